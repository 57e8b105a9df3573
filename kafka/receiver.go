package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// receiveMost is how many deliveries one Receive returns at most. So many make the cost of the call itself
// negligible, and a poll can begin before a large part of the places is free.
const receiveMost = 2_000

// receiver receives from one channel, as a member of its group. The ledger decides, and the receiver carries it out.
type receiver struct {
	sub       *subscription
	ledger    *records.Ledger
	committer *committer
	group     *group
	waking    *waking // of messages that wait for their time; nil: nothing wakes them
}

// newReceiver opens a receiver of the channel's topic and its tiers, or of its tiers only.
func newReceiver(
	ctx context.Context, b *Backend, from driver.Channel, o driver.ReceiverOptions, why purpose,
) (*receiver, error) {
	r := &receiver{}
	r.sub = subscribe(b, from, o, why, func() string { return r.group.log() })
	if err := r.sub.findFormer(ctx); err != nil {
		return nil, err
	}
	r.ledger = records.New(r.sub.rules())
	r.committer = newCommitter(r.sub, r.ledger)
	r.group = &group{sub: r.sub, ledger: r.ledger, committer: r.committer, ended: make(chan struct{})}
	if err := r.sub.start(ctx); err != nil {
		return nil, err
	}
	b.pauses.add(r)
	if err := r.group.join(ctx); err != nil {
		b.pauses.remove(r)
		return nil, err
	}
	r.group.begin()
	if !from.DeadLetter {
		r.waking = wake(b, from, r.sub.dead)
	}
	return r, nil
}

// Limits says how retries wait, and that received records stay with this receiver while the handler works.
func (r *receiver) Limits() driver.ReceiveLimits { return r.sub.limits() }

// Receive returns messages that wait in this process and are due, or else those that a poll brings.
func (r *receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	had := len(into)
	ends := time.Now().Add(r.sub.o.Wait)
	for polled := false; ; polled = true {
		if err := r.ready(ctx); err != nil || failure.Over(ctx) {
			return into, err
		}
		var err error
		if into, err = r.carryOut(ctx, r.ledger.Again(ask.Max), into); err != nil || len(into) > had {
			return into, err
		}
		left := time.Until(ends)
		if polled && left <= 0 {
			return into, nil
		}
		if into, err = r.poll(ctx, left, ask.Max, into); err != nil || len(into) > had {
			return into, err
		}
	}
}

// ready reports whether there is a member to poll with. It replaces a member whose topic was created again.
func (r *receiver) ready(ctx context.Context) error {
	failed := r.committer.failed()
	switch {
	case r.group.closed.Load():
		return r.errClosed()
	case failure.Over(ctx):
		return nil
	}
	if replaced, err := r.group.renew(ctx); replaced {
		return err
	}
	return failed
}

func (r *receiver) errClosed() error {
	return fmt.Errorf("the receiver of %s is %w", r.sub.from, driver.ErrClosed)
}

// poll polls the client until it returns a record, until a message that waits in this process is due, or until wait is
// over.
func (r *receiver) poll(
	ctx context.Context, wait time.Duration, most int, into []driver.Delivery,
) ([]driver.Delivery, error) {
	m, l := r.group.current(), r.ledger
	waiting, cancel := l.Wakeup.Begin(ctx, l.Expect(wait))
	defer cancel()
	// PollFetches returns all buffered records: the client fetches more only when its buffer is empty.
	fetches := m.client.PollFetches(waiting)
	if waiting != nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && fetches.Empty() {
		m.spare.drop()
	}
	in := l.Bring(m.Member, fetches, most)
	l.Wakeup.Done()
	into, err := r.carryOut(ctx, in, into)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if perr := r.group.pollError(&p); err == nil {
			err = perr
		}
	})
	return into, err
}

// carryOut does what the ledger decided in a round.
func (r *receiver) carryOut(ctx context.Context, in *records.Round, into []driver.Delivery) ([]driver.Delivery, error) {
	r.group.fetch(in.Change)
	in.Passed.Tell(r.sub.o.Events)
	if in.Keyless {
		r.sub.b.log.Warn("half of the records have no key, and are handled one after another in their partition: if they "+
			"do not depend on each other, set kafka.Options.NullKeys to NullKeysSpread", "topic", r.sub.topic)
	}
	texts := wire.NewDecoder(len(in.Out))
	for _, m := range in.Out {
		into = append(into, driver.Delivery{
			Source: &m.Epoch.Source, Handle: driver.Handle{Ref: m, Seq: m.Use},
			Attempt: m.Attempt, FirstFailure: m.Failed,
		})
		d := &into[len(into)-1]
		texts.Decode(m.Record, d)
		r.sub.fill(d, m.Epoch.Name, m.Record, m.Epoch.Stay > 0)
		send.Point(r.sub.b.o.Store, d)
	}
	if texts.TimedBySender && !r.sub.b.timesSaid.Swap(true) {
		r.sub.b.log.Warn(sendersTimes, "topic", r.sub.topic)
	}
	clear(in.Out)
	if len(in.Moved) == 0 {
		return into, nil
	}
	errs := map[int]error{} // of messages that are not due, and are published to a tier
	r.retry(ctx, r.ledger.Shift(in.Moved), errs)
	for _, err := range errs {
		if !errors.Is(err, records.ErrInTransaction) {
			return into, fmt.Errorf("move a record of %s that is not due to its tier: %w", r.sub.from, err)
		}
	}
	return into, nil
}

// Started notes the number of attempts of a record whose retry the core holds, so that a crash does not reset it.
func (r *receiver) Started(h driver.Handle, attempt int32) { r.ledger.Started(h, attempt) }

// Finish settles a delivery as done, without waiting.
func (r *receiver) Finish(h driver.Handle) { r.ledger.Done(h) }

// Close commits the finished records and leaves the group.
func (r *receiver) Close(ctx context.Context) error {
	if r.group.closed.Swap(true) {
		return nil
	}
	r.sub.b.pauses.remove(r)
	r.ledger.Wakeup.Wake()
	if r.waking != nil {
		r.waking.end()
		defer r.waking.stop()
	}
	return r.group.close(ctx)
}
