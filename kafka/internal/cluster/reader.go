package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Reader reads partitions without a group, beginning at given offsets.
type Reader struct {
	client   *client.Client
	patience time.Duration // how long the brokers may send nothing
}

// ErrSilent is the error of a reader to which the brokers send nothing.
var ErrSilent = errors.New("the brokers have sent nothing")

// Poll returns the next records. They may be control records, if the options of the reader say so.
func (r *Reader) Poll(ctx context.Context) (kgo.Fetches, error) {
	wait, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	fetches := r.client.PollFetches(wait)
	switch {
	case failure.Over(ctx):
		return nil, context.Cause(ctx)
	case failure.Over(wait) && fetches.Empty():
		return nil, &driver.Error{
			Class: driver.Transient, Err: fmt.Errorf("%w for %v: try again", ErrSilent, r.patience),
		}
	}
	if errs := fetches.Errors(); len(errs) > 0 {
		return nil, failure.Classify(errs[0].Err)
	}
	return fetches, nil
}

// Close closes the reader.
func (r *Reader) Close() { r.client.CloseNow() }

const (
	// lookUpPatience is how long a look-up is repeated, for example because a partition has no leader.
	lookUpPatience = 30 * time.Second
	// lookUpAgain is the first pause between two tries, and lookUpAgainMost the longest one.
	lookUpAgain, lookUpAgainMost = 100 * time.Millisecond, 4 * time.Second
)

// Tries repeat a look-up while its error is temporary. A partition that was just created has no leader yet.
type Tries struct {
	began time.Time
	n     int
}

// Try begins to count the tries of a look-up.
func Try() Tries { return Tries{began: time.Now()} }

// Again reports whether to try once more after this error, and waits before that. If ctx ends meanwhile, its cause
// joins the error.
func (t *Tries) Again(ctx context.Context, err *error) bool {
	if *err == nil || !driver.ClassOf(*err).Passing() || time.Since(t.began) > lookUpPatience {
		return false
	}
	t.n++
	if backoff.Sleep(ctx, backoff.Curve{First: lookUpAgain, Max: lookUpAgainMost}.Wait(t.n)) != nil {
		*err = errors.Join(context.Cause(ctx), *err)
		return false
	}
	return true
}
