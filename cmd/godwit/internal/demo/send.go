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
	// senders is the number of concurrent senders: twice a full batch, so that the producer can fill a batch while the
	// one before is in flight.
	senders = 20
	// usersEach is the number of users per sender. No user has two senders, so a user's wishes are accepted in the
	// order of their numbers.
	usersEach = 5
	// perSecond is the rate of a run that is limited only by time: fast enough to see progress, slow enough to read.
	perSecond = 500
)

// send sends until the limits of the options, the end of ctx, or the first failure. Each send uses the context working,
// so that it is always known whether a wish was accepted.
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

// sent records an accepted wish on every branch that should get it.
func (j *job) sent(w wish) {
	j.accepted.Add(1)
	for _, b := range j.branches {
		if b.wants(w.Item) {
			b.ledger.sent(w.Number)
		}
	}
}
