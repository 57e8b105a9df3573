package later

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// woken and cancelled are what is decided about a message that can be cancelled.
	woken     = "woken"
	cancelled = "cancelled"
	// outlives is how long after its time a copy of a message may still be somewhere: 14 days in its queue, and as long
	// again for the clocks.
	outlives = 28 * 24 * time.Hour
	// decideFor bounds the wait of a waker for one decision. Afterwards the message is received again.
	decideFor = 5 * time.Second
	// placeBytes of the hash are in each id.
	placeBytes = 4
)

// decisions is snssqs.Decisions.
type decisions interface {
	Ensure(ctx context.Context, mode driver.Mode) error
	Decide(ctx context.Context, name, text string) (decided string, err error)
	Lifetime() time.Duration
	String() string
}

// Arbiter decides whether a message that can be cancelled is sent on or cancelled: the waker and the programs that
// cancel write for the same name, and the first text counts for all. A nil Arbiter decides nothing.
type Arbiter struct {
	decisions decisions
	names     *estate.Estate
	checked   atomic.Bool
}

// NewArbiter makes no request; nil: there are no decisions.
func NewArbiter(d decisions, names *estate.Estate) *Arbiter {
	if d == nil {
		return nil
	}
	return &Arbiter{decisions: d, names: names}
}

// Ensure creates what decisions need, or compares it.
func (a *Arbiter) Ensure(ctx context.Context, mode driver.Mode) error {
	if a == nil {
		return nil
	}
	if err := a.decisions.Ensure(ctx, mode); err != nil {
		return fmt.Errorf("the decisions about cancelled messages: %w", err)
	}
	return nil
}

// Check refuses, once, a store that ignores the condition of a write: it would lose what was decided first.
func (a *Arbiter) Check(ctx context.Context) error {
	if a == nil || a.checked.Load() {
		return nil
	}
	const name = "check"
	first, err := a.decisions.Decide(ctx, name, "first")
	if err != nil {
		return fmt.Errorf("the decisions about cancelled messages: %w", err)
	}
	second, err := a.decisions.Decide(ctx, name, "second")
	if err != nil {
		return fmt.Errorf("the decisions about cancelled messages: %w", err)
	}
	if first != second {
		return client.Permanent("the decisions about cancelled messages in %s: the store has replaced an object by a write "+
			"with If-None-Match, so that both a cancelled message and its delivery would be told: use a store with "+
			"conditional writes, as S3", a.decisions)
	}
	a.checked.Store(true)
	return nil
}

// Cancelling makes ids for messages of a channel that wait beside it; nil: there are no decisions.
func (a *Arbiter) Cancelling(of driver.Channel) *wire.Cancelling {
	if a == nil {
		return nil
	}
	c := &wire.Cancelling{Channel: estate.LaterOf(of).Queue, Place: a.place(of)}
	if keeps := a.decisions.Lifetime(); keeps > 0 {
		c.Within = max(keeps-outlives, 1)
	}
	return c
}

// place stands for the queue of a channel's later messages and for where its decisions are. A decision about a message
// of another place would be one that its waker does not see.
func (a *Arbiter) place(of driver.Channel) string {
	name, _ := a.names.QueueName(estate.LaterOf(of)) // a name that is not possible has no sender
	sum := sha256.Sum256([]byte(name + "\x00" + a.decisions.String()))
	return hex.EncodeToString(sum[:placeBytes])
}

// Cancel is driver.Operations.Cancel.
func (a *Arbiter) Cancel(ctx context.Context, to driver.Channel, id string) (bool, error) {
	if err := a.names.Clients.Open(); err != nil {
		return false, err
	}
	parsed, err := wire.ParseCancelID(id)
	switch {
	case err != nil:
		return false, err
	case parsed.Channel != estate.LaterOf(to).Queue:
		return false, client.Permanent("the message %s is one of channel %s, and not of %s", id, parsed.Channel, to)
	case parsed.Place != a.place(to):
		return false, client.Permanent("the message %s was sent with another snssqs.Options.Namespace, or with other Decisions "+
			"than %s", id, a.decisions)
	case time.Now().After(parsed.Due.Add(outlives)):
		return false, nil // it was sent at once, or its decision may be deleted by now
	}
	decided, err := a.decide(ctx, id, cancelled)
	return decided == cancelled, err
}

// wakes reports whether a message that is due is sent on. Otherwise it was cancelled.
func (a *Arbiter) wakes(ctx context.Context, of driver.Channel, id string) (bool, error) {
	if a == nil {
		return false, client.Permanent("set snssqs.Options.Decisions, as the producer of the message does")
	}
	parsed, err := wire.ParseCancelID(id)
	if err != nil {
		return false, err
	}
	if parsed.Place != a.place(of) {
		return false, client.Permanent("its producer has other snssqs.Options.Decisions than %s: set the same ones", a.decisions)
	}
	ctx, cancel := context.WithTimeout(ctx, decideFor)
	defer cancel()
	if err := a.Check(ctx); err != nil {
		return false, err
	}
	decided, err := a.decide(ctx, id, woken)
	return decided == woken, err
}

// decide writes what the caller wants, unless there is a decision, and returns what is decided.
func (a *Arbiter) decide(ctx context.Context, id, wanted string) (string, error) {
	decided, err := a.decisions.Decide(ctx, id, wanted)
	if err == nil && decided != woken && decided != cancelled {
		err = client.Permanent("the decision %s in %s is %q, which Godwit has not written", id, a.decisions, decided)
	}
	return decided, err
}
