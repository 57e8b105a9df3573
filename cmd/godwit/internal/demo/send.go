package demo

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// senders run at once, twice a full batch, so that the producer's batches are full while the one before is on its way.
	senders = 20
	// perSecond is the pace of a run that is bounded by time alone: fast enough to see things happen, slow enough to read.
	perSecond = 500
)

// order is what is sent.
type order struct {
	Number int    `json:"number"`
	Item   string `json:"item"`
}

// send sends until the options' bounds, the end of ctx, or the first failure. Each send runs on working, so that an order is
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
	for range senders {
		wg.Go(func() {
			if err := j.sendSome(sending, working, p, &taken); err != nil {
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

// sendSome is one sender: it takes the next number, and sends that order.
func (j *job) sendSome(sending, working context.Context, p *godwit.Producer, taken *atomic.Int64) error {
	pace := time.NewTicker(senders * time.Second / perSecond)
	defer pace.Stop()
	for sending.Err() == nil {
		number := int(taken.Add(1))
		if j.o.Messages > 0 && number > j.o.Messages {
			return nil
		}
		body, err := json.Marshal(order{Number: number, Item: "kite"})
		if err != nil {
			return err
		}
		if err := p.Send(working, godwit.Message{Body: body, ContentType: "application/json"}); err != nil {
			return err
		}
		j.ledger.sent(number)
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
