package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// intake is one round of admission. What is decided under receiver.mu is carried out after it.
type intake struct {
	r     *receiver
	now   time.Time
	most  int
	round uint64
	out   []*message // to be delivered
	move  []*message // to be published to a tier instead

	passed discard.Tally
}

// newIntake begins a round. The caller holds r.mu; there is one round at a time.
func (r *receiver) newIntake(most int) *intake {
	r.round++
	return &intake{r: r, now: time.Now(), most: most, round: r.round, out: r.out[:0]}
}

// poll asks the client for records, until one comes, until something that waits here is due, or until the wait is over.
func (r *receiver) poll(ctx context.Context, wait time.Duration, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	r.mu.Lock()
	m := r.member
	if next := r.line.next(); !next.IsZero() {
		wait = min(wait, time.Until(next))
	}
	var pollCtx context.Context // nil: what is there
	if r.mu.await(wait > 0 && r.hungry(m)); wait > 0 && !r.nudged {
		var cancel context.CancelFunc
		pollCtx, cancel = context.WithTimeout(ctx, wait)
		r.interrupt = cancel
		defer cancel()
	}
	r.nudged = false
	done := make(chan struct{})
	r.polling = done
	r.mu.Unlock()
	fetches := m.client.PollFetches(pollCtx) // all there is: the client fetches more only when its hands are empty
	if over := pollCtx != nil && errors.Is(pollCtx.Err(), context.DeadlineExceeded); over && fetches.Empty() {
		m.spare.drop()
	}
	r.mu.Lock()
	r.mu.await(false)
	r.interrupt = nil
	in := r.newIntake(most)
	var err error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if e := m.epochs[wire.Partition{Topic: p.Topic, N: p.Partition}]; e != nil && !m.retired && e.wants() {
			e.bring(p.Records)
		}
		if perr := r.pollError(m, &p); perr != nil {
			err = perr
		}
	})
	in.takeAll(m)
	r.polling = nil
	close(done)
	r.mu.Unlock()
	return in.finish(ctx, into, err)
}

// pollError is what an error of a poll means. The caller holds r.mu.
func (r *receiver) pollError(m *member, p *kgo.FetchTopicPartition) error {
	err := p.Err
	var loss *kgo.ErrDataLoss
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, kgo.ErrClientClosed) && (r.closed || m.retired):
		return nil
	case errors.Is(err, kerr.UnknownTopicID):
		if !m.retired {
			r.madeAnew(p.Topic)
		}
		return nil
	case errors.As(err, &loss):
		r.b.log.Error("the broker lost records of a partition: reading goes on where its log does", "topic", p.Topic, "partition", p.Partition,
			"read up to", loss.ConsumedTo, "goes on at", loss.ResetTo)
		return nil
	case p.Topic == "":
		return fmt.Errorf("poll for %s: %w", r.from, failure.Classify(err))
	}
	return fmt.Errorf("poll partition %d of topic %s: %w", p.Partition, p.Topic, failure.Classify(err))
}

// admitWaiting admits what is due, and what waits for a place in its tracker.
func (r *receiver) admitWaiting(ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	r.mu.Lock()
	m := r.member
	in := r.newIntake(most)
	r.catchUp(m, in.now)
	in.goOn()
	for in.room() > 0 {
		w := r.line.take(in.now)
		if w == nil {
			break
		}
		in.route(w)
	}
	in.takeAll(m)
	r.mu.Unlock()
	return in.finish(ctx, into, nil)
}

// room is how many more records this round has room for.
func (in *intake) room() int { return in.most - len(in.out) - len(in.move) }

// admit says no when there is no place for a record now.
func (in *intake) admit(e *epoch, rec *kgo.Record) bool {
	if in.room() == 0 || e.crowded() || in.r.barred(e) {
		return false
	}
	if rec.Offset < e.next && e.stay == 0 {
		e.dead = nil // the log was cut, and this is another record
	}
	seq, attempt, a := e.tracker.Admit(rec.Offset, rec.LeaderEpoch)
	if a == offsets.Full {
		return false
	}
	e.next = rec.Offset + 1
	if a == offsets.Finished {
		in.passed.Finished++
		in.r.forget(rec)
		return true
	}
	died := e.died(rec)
	if died || e.stay == 0 && in.r.picky && !wire.Matches(in.r.o.Filter, rec) {
		if died {
			in.passed.Finished++
		} else {
			in.passed.Filtered++
		}
		e.tracker.Finish(seq)
		in.r.forget(rec)
		return true
	}
	w := in.r.used.take()
	w.epoch, w.record, w.seq, w.attempt = e, rec, seq, attempt
	if e.stay > 0 || in.r.set.Ordering == Unordered {
		w.due, _ = wire.Due(rec)
	}
	if e.stay > 0 {
		w.attempt = max(w.attempt, wire.Starts(rec))
	}
	in.route(w)
	return true
}

// route decides what becomes of an admitted message now: it is delivered, waits here, or is moved to a tier.
func (in *intake) route(w *message) {
	r, e := in.r, w.epoch
	if r.parks(w) && !r.proceed(w, in.round) {
		if w.record != nil && !w.parked && !w.waits {
			in.move = append(in.move, w)
		}
		return
	}
	wait := w.due.Sub(in.now)
	switch {
	case wait <= 0 || w.back:
		in.out = append(in.out, w)
		r.occupy(w)
	case e.stay == 0 && r.tierless():
		r.line.add(w, w.due)
	case e.stay == 0:
		in.move = append(in.move, w)
	default:
		if left := w.record.Timestamp.Add(e.stay).Sub(in.now); left > 0 {
			r.line.add(w, in.now.Add(min(wait, left)))
		} else {
			in.move = append(in.move, w)
		}
	}
}

// tierless says that records which are not due wait in this process.
func (r *receiver) tierless() bool { return r.retry == nil || !r.retry.Durable() }

// finish carries out what was decided.
func (in *intake) finish(ctx context.Context, into []driver.Delivery, err error) ([]driver.Delivery, error) {
	in.passed.Tell(in.r.o.Events)
	texts := wire.NewDecoder(len(in.out))
	for _, w := range in.out {
		into = append(into, driver.Delivery{Source: &w.epoch.Source, Handle: driver.Handle{Ref: w, Seq: w.use}, Attempt: w.attempt})
		d := &into[len(into)-1]
		texts.Decode(w.record, d)
		in.r.place(w, d)
	}
	clear(in.out)
	in.r.out = in.out
	if len(in.move) > 0 {
		if merr := in.r.shift(ctx, in.move); merr != nil && err == nil {
			err = merr
		}
	}
	return into, err
}

// place says which lane a delivery is in.
func (r *receiver) place(w *message, d *driver.Delivery) {
	switch r.set.Ordering {
	case ByPartition:
		d.OrderKey = w.epoch.Name
	case Unordered:
		d.OrderKey, d.Tenant = "", d.OrderKey
	}
	if w.epoch.stay > 0 {
		if home, ok := wire.HomeOf(w.record); ok {
			d.ID = home.String()
		}
	}
	if r.from.DeadLetter {
		d.Origin = deadletter.OriginOf(r.from, w.record)
	}
}
