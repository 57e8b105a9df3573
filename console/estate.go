package console

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

const (
	// estateMost bounds the channels whose settings are read: each costs several requests.
	estateMost = 200
	// estateFresh is how old settings may be.
	estateFresh = 5 * time.Minute
	// estateLeast is how old settings are at least before they are read because of a channel that they do not have.
	estateLeast = 15 * time.Second
)

// estate keeps the settings of channels, and their activity of the last hour, for pages about all of them.
type estate struct {
	busy chan struct{} // has an element while somebody reads or uses the rest
	at   time.Time
	all  map[string]*describe.Channel
	acts map[string]driver.Activity
	err  error

	kept  atomic.Pointer[surveyed] // the last survey; nil: none yet
	stale atomic.Bool              // something was changed since
}

// forget makes the next survey read everything again.
func (e *estate) forget() { e.stale.Store(true) }

// surveyed is what an estate has.
type surveyed struct {
	At  time.Time
	All map[string]*describe.Channel
	// Acts is the activity of the last hour.
	Acts map[string]driver.Activity
	Left int   // channels that were not read, because there are too many
	Err  error // why something is missing
}

// survey returns the settings of the channels of a view, which may be some minutes old.
func (e *estate) survey(ctx context.Context, b driver.Backend, seen *ops.View) (*surveyed, error) {
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	wanted := map[driver.Channel]bool{}
	var channels []driver.Channel
	left := 0
	for i := range seen.Channels {
		w := &seen.Channels[i]
		ch := w.Channel
		if ch.DeadLetter && w.Waiting+w.InFlight+w.Delayed == 0 { // nothing can expire in it
			continue
		}
		if len(channels) == estateMost {
			left++
			continue
		}
		wanted[ch] = true
		channels = append(channels, ch)
	}
	if e.old(channels) {
		e.read(ctx, b, channels, wanted)
	}
	s := &surveyed{e.at, e.all, e.acts, left, e.err}
	e.kept.Store(s)
	return s, nil
}

// old reports whether the settings must be read again.
func (e *estate) old(channels []driver.Channel) bool {
	age := time.Since(e.at)
	if e.stale.Swap(false) || age > estateFresh {
		return true
	}
	for _, ch := range channels {
		if e.all[ch.String()] == nil {
			return age > estateLeast
		}
	}
	return false
}

func (e *estate) read(ctx context.Context, b driver.Backend, channels []driver.Channel,
	wanted map[driver.Channel]bool,
) {
	all, err := describe.All(ctx, b, func(ch driver.Channel) bool { return wanted[ch] })
	if e.at, e.err = time.Now(), err; err != nil {
		e.at = e.at.Add(estateLeast - estateFresh) // it is tried again soon
		return
	}
	e.all, e.acts = map[string]*describe.Channel{}, map[string]driver.Activity{}
	for _, c := range all {
		e.all[c.Channel.String()] = c
	}
	activity := driver.OperationsOf(b).Activity
	if activity == nil {
		return
	}
	acts, err := activity(ctx, channels, time.Now().Add(-time.Hour))
	e.err = err
	for i := range acts {
		e.acts[acts[i].Channel.String()] = acts[i]
	}
}
