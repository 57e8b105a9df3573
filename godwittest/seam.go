package godwittest

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
)

// backend is the local backend with journaling senders and receivers. It embeds the backend, so it has all its
// abilities.
type backend struct {
	*local.Backend
	journal *journal
}

// Sender opens a sender that writes the journal.
func (b *backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	return b.journal.sender(ctx, b.Backend, to)
}

// Receiver opens a receiver that writes the journal.
func (b *backend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	return b.journal.receiver(ctx, b.Backend, from, o)
}

// sender opens a sender whose closing is recorded.
func (j *journal) sender(ctx context.Context, b driver.Backend, to driver.Channel) (driver.Sender, error) {
	inner, err := b.Sender(ctx, to)
	if err != nil {
		return nil, err
	}
	s := &sender{Sender: inner, channel: to.String(), journal: j}
	j.gate.add(j.gate.senders, s.channel, 1)
	if poster, posts := inner.(driver.Poster); posts {
		return struct {
			*sender
			driver.Poster
		}{s, poster}, nil
	}
	return s, nil
}

// sender records its closing.
type sender struct {
	driver.Sender
	channel string
	journal *journal
}

// Forward implements driver.Forwarder, which all senders of Godwit's backends do.
func (s *sender) Forward(ctx context.Context, f *driver.Forward) (driver.Prepared, error) {
	forwarder, able := s.Sender.(driver.Forwarder)
	if !able {
		return driver.Prepared{}, errors.New("the sender to " + s.channel + " cannot forward messages")
	}
	return forwarder.Forward(ctx, f)
}

func (s *sender) Close(ctx context.Context) error {
	s.journal.gate.add(s.journal.gate.senders, s.channel, -1)
	return s.Sender.Close(ctx)
}

// receiver opens a receiver that writes the journal. If the backend's is an AttemptLog or an Extender, so is the
// returned one.
func (j *journal) receiver(ctx context.Context, b driver.Backend, from driver.Channel,
	o driver.ReceiverOptions,
) (driver.Receiver, error) {
	inner, err := b.Receiver(ctx, from, o)
	if err != nil {
		return nil, err
	}
	r := &receiver{Receiver: inner, channel: from.String(), journal: j}
	r.log, _ = inner.(driver.AttemptLog)
	j.gate.add(j.gate.receivers, r.channel, 1)
	j.gate.change()
	extender, extends := inner.(driver.Extender)
	finisher, finishes := inner.(driver.Finisher)
	switch {
	case finishes:
		return &finishingReceiver{r, finisher}, nil
	case extends:
		return &leasedReceiver{r, extender}, nil
	}
	return r, nil
}

// receiver records deliveries and settlements.
type receiver struct {
	driver.Receiver
	channel string
	journal *journal
	log     driver.AttemptLog // nil: the receiver is not one
}

// Uncommitted implements driver.Log.
func (r *receiver) Uncommitted() int64 {
	if log, ok := r.Receiver.(driver.Log); ok {
		return log.Uncommitted()
	}
	return 0
}

// Stalls implements driver.Log.
func (r *receiver) Stalls(now time.Time) (times int64, complaints []string) {
	if log, ok := r.Receiver.(driver.Log); ok {
		return log.Stalls(now)
	}
	return 0, nil
}

func (r *receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	gate := r.journal.gate
	if !gate.enter(ctx, r.channel) {
		return into, nil
	}
	before := len(into)
	into, err := r.Receiver.Receive(ctx, ask, into)
	r.journal.received(r, into[before:])
	gate.add(gate.polls, r.channel, -1) // it is held now, so no check between the two misses it
	if len(into) > before {
		gate.change()
	}
	return into, err
}

// Started implements driver.AttemptLog: no other call of the seam shows attempts whose retries are held in the
// consumer.
func (r *receiver) Started(h driver.Handle, attempt int32) {
	r.journal.holding(h, int(attempt))
	if r.log != nil {
		r.log.Started(h, attempt)
	}
}

func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	r.journal.verdicts(batch)
	err := r.Receiver.Settle(ctx, batch)
	var entries *driver.BatchError
	if err != nil && !errors.As(err, &entries) {
		return err // no entry is known to be settled
	}
	var over []driver.Handle
	for i := range batch {
		if entries == nil || entries.Errs[i] == nil || errors.Is(entries.Errs[i], driver.ErrLost) {
			over = append(over, batch[i].Handle)
		}
	}
	r.journal.accepted(over)
	return err
}

func (r *receiver) Close(ctx context.Context) error {
	err := r.Receiver.Close(ctx)
	r.journal.closed(r)
	return err
}

// leasedReceiver also records lost leases.
type leasedReceiver struct {
	*receiver
	inner driver.Extender
}

func (r *leasedReceiver) Extend(ctx context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	ends, err := r.inner.Extend(ctx, hs, by)
	var entries *driver.BatchError
	if errors.As(err, &entries) {
		var lost []driver.Handle
		for i, e := range entries.Errs {
			if errors.Is(e, driver.ErrLost) {
				lost = append(lost, hs[i])
			}
		}
		r.journal.accepted(lost)
	}
	return ends, err
}

// finishingReceiver also records deliveries that are finished in a log.
type finishingReceiver struct {
	*receiver
	inner driver.Finisher
}

func (r *finishingReceiver) Finish(h driver.Handle) {
	r.journal.verdicts([]driver.Settlement{{Handle: h}})
	r.journal.accepted([]driver.Handle{h}) // before the backend reuses the handle
	r.inner.Finish(h)
}
