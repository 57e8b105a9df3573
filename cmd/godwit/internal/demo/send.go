package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// senders run at once, twice a full batch, so that the producer's batches are full while the one before is on its way.
	senders = 20
	// usersEach is how many users a sender speaks for: no user has two senders, so a user's wishes are accepted in the order
	// of their numbers.
	usersEach = 5
	// perSecond is the pace of a run that is bounded by time alone: fast enough to see things happen, slow enough to read.
	perSecond = 500
)

// send sends until the options' bounds, the end of ctx, or the first failure. Each send runs on working, so that a wish is
// either known to be accepted or known not to be.
func (j *job) send(ctx, working context.Context, p *godwit.Producer) error {
	sending, stop := context.WithCancelCause(working)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(nil) })()
	if j.o.For > 0 {
		defer time.AfterFunc(j.o.For, func() { stop(nil) }).Stop()
	}
	var wg sync.WaitGroup
	var taken atomic.Int64
	for sender := range senders {
		wg.Go(func() {
			if err := j.sendSome(sending, working, p, sender, &taken); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(sending); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// sendSome is one sender: it takes the next number, and sends that wish for one of its users.
func (j *job) sendSome(sending, working context.Context, p *godwit.Producer, sender int, taken *atomic.Int64) error {
	pace := time.NewTicker(senders * time.Second / perSecond)
	defer pace.Stop()
	for round := 0; sending.Err() == nil; round++ {
		number := int(taken.Add(1))
		if j.o.Messages > 0 && number > j.o.Messages {
			return nil
		}
		w := wishOf(j.o.Seed, number, fmt.Sprintf("user-%d", sender+senders*(round%usersEach)))
		m, err := w.message()
		if err != nil {
			return err
		}
		if err := p.Send(working, m); err != nil {
			return err
		}
		j.sent(w)
		if j.o.Messages > 0 {
			continue
		}
		select {
		case <-pace.C:
		case <-sending.Done():
		}
	}
	return nil
}

// sent notes an accepted wish on every branch that is to get it.
func (j *job) sent(w wish) {
	j.accepted.Add(1)
	for _, b := range j.branches {
		if b.wants(w.Item) {
			b.ledger.sent(w.Number)
		}
	}
}
