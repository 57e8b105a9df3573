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

// Patiently repeats a look-up whose error is temporary. A partition that was just created has no leader yet.
func Patiently(ctx context.Context, lookUp func() error) error {
	pause := backoff.Curve{First: lookUpAgain, Max: lookUpAgainMost}
	began := time.Now()
	for tries := 1; ; tries++ {
		err := lookUp()
		if err == nil || !driver.ClassOf(err).Passing() || time.Since(began) > lookUpPatience {
			return err
		}
		if backoff.Sleep(ctx, pause.Wait(tries)) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
