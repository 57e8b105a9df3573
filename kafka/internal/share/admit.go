package share

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// digestRecords makes locks of the records that an answer brought.
func (s *session) digestRecords(a *answer) (runs []*run) {
	for i := range a.got {
		g := &a.got[i]
		records, err := s.decode.records(g.n, g.raw)
		missing := gap
		if err != nil {
			missing = release // perhaps it can be read the next time
			s.r.queue.put(nil, fmt.Errorf("read records of topic %s, partition %d: %w", s.r.c.Topic, g.n,
				failure.Classify(err)))
		}
		u, gaps := s.lockAll(g, records, a.asked.Add(a.lock), missing)
		if n := len(records); n > 0 && g.acquired[len(g.acquired)-1].LastOffset >= records[n-1].Offset {
			delete(s.decode.last, g.n)
		}
		freed, current := s.enter(u, g, gaps, a.resets)
		s.r.freed(freed)
		if current && u.open > 0 {
			runs = append(runs, u)
		}
	}
	return runs
}

// lockAll makes a run of the records that the broker has locked, and acks of the offsets without a record.
func (s *session) lockAll(g *fetched, records []*kgo.Record, ends time.Time, missing ackType) (u *run, gaps []ack) {
	u = &run{s: s, partition: g.n}
	count := int64(0)
	for _, r := range g.acquired {
		count += r.LastOffset - r.FirstOffset + 1
	}
	u.locks = make([]lock, 0, min(count, int64(len(records))))
	absent := func(first, last int64) {
		if first <= last {
			gaps = append(gaps, ack{partition: g.n, first: first, last: last, what: missing})
		}
	}
	for _, r := range g.acquired {
		from, _ := slices.BinarySearchFunc(records, r.FirstOffset, func(rec *kgo.Record, at int64) int {
			return cmp.Compare(rec.Offset, at)
		})
		next := r.FirstOffset
		for _, rec := range records[from:] {
			if rec.Offset > r.LastOffset {
				break
			}
			absent(next, rec.Offset-1)
			u.locks = append(u.locks, lock{run: u, record: rec, count: r.DeliveryCount, ends: ends})
			next = rec.Offset + 1
		}
		absent(next, r.LastOffset)
	}
	u.open = len(u.locks)
	return u, gaps
}

// enter makes a run part of the session, and returns how many of the counted records are not held after all; false: the
// session has begun again, and the run is lost.
func (s *session) enter(u *run, g *fetched, gaps []ack, resets int) (freed int, current bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resets != resets {
		return u.open + offsets(gaps), false
	}
	freed = s.locks.enter(u, g, gaps)
	if len(gaps) > 0 {
		wake(s.wake)
	}
	return freed + offsets(gaps), true
}

// offsets is how many offsets acks cover.
func offsets(as []ack) (n int) {
	for i := range as {
		n += int(as[i].last - as[i].first + 1)
	}
	return n
}

// admit makes deliveries of the records of a run. What is not due, and what was delivered before, needs requests first.
func (r *Receiver) admit(u *run) {
	ds := make([]driver.Delivery, 0, len(u.locks))
	decode := wire.NewDecoder(len(u.locks))
	var later []*lock
	var dropped []ack
	var passed discard.Tally
	now := time.Now()
	for i := range u.locks {
		l := &u.locks[i]
		at, delayed := wire.Due(l.record)
		switch {
		case !wire.Matches(r.c.Options.Filter, l.record):
			passed.Filtered++
			dropped = append(dropped, ackOf(l, accept, nil, 0))
		case delayed && at.After(now), !l.fresh():
			later = append(later, l)
		default:
			ds = r.deliver(decode, l, ds)
		}
	}
	if decode.TimedBySender {
		r.c.SayTimes()
	}
	r.discard(u.s, dropped)
	passed.Tell(r.c.Options.Events)
	if len(ds) > 0 {
		r.queue.put(ds, nil)
	}
	if len(later) > 0 {
		r.wg.Go(func() { r.postpone(u.s, later) })
	}
}

// discard accepts records that no Receive returns.
func (r *Receiver) discard(s *session, as []ack) {
	kept := as[:0]
	for _, a := range as {
		if s.claim(a.lock) {
			kept = append(kept, a)
		}
	}
	if len(kept) > 0 {
		s.tell(kept...)
		r.freed(len(kept))
	}
}

// postpone moves records to a tier: one that is not due, and one that was delivered before, which comes from there with
// an attempt count of its own. If that fails, the latter is delivered, because this delivery may be its last one, and
// the lock of the former ends.
func (r *Receiver) postpone(s *session, ls []*lock) {
	dead := r.recall(ls)
	var passed discard.Tally
	var dropped []ack
	var moving []*lock
	var copies []records.Copy
	now := time.Now()
	for _, l := range ls {
		if dead.Has(l.record.Partition, l.record.Offset) {
			passed.Finished++
			dropped = append(dropped, ackOf(l, accept, nil, 0))
			continue
		}
		at, _ := wire.Due(l.record)
		if at.Before(now) {
			at = now
		}
		moving, copies = append(moving, l), append(copies, records.Copy{Record: l.record, Due: at})
	}
	var ds []driver.Delivery
	if len(copies) > 0 {
		for k, err := range r.c.Retry(r.polls, copies) {
			switch l := moving[k]; {
			case err == nil:
				dropped = append(dropped, ackOf(l, accept, nil, 0))
			case !l.fresh():
				ds = r.deliver(wire.NewDecoder(1), l, ds)
			}
		}
	}
	r.discard(s, dropped)
	passed.Tell(r.c.Options.Events)
	if len(ds) > 0 {
		r.queue.put(ds, nil)
	}
}

// deliver appends the delivery of a record.
func (r *Receiver) deliver(decode *wire.Decoder, l *lock, ds []driver.Delivery) []driver.Delivery {
	ds = append(ds, driver.Delivery{
		Source: &r.source, Handle: driver.Handle{Ref: l}, LeaseEnds: l.ends, Received: int32(l.count),
	})
	d := &ds[len(ds)-1]
	decode.Decode(l.record, d)
	d.OrderKey, d.Tenant = "", d.OrderKey
	r.c.Point(d)
	return ds
}

// recall looks up which records are dead letters already. A share group commits no metadata that could tell; but what
// was rejected and not accepted, because its process ended in between, is delivered again, and only for such records
// the newest dead letters of their partitions are read.
func (r *Receiver) recall(ls []*lock) deadletter.Known {
	var partitions []int32
	for _, l := range ls {
		if n := l.record.Partition; !l.fresh() && !slices.Contains(partitions, n) {
			partitions = append(partitions, n)
		}
	}
	if len(partitions) == 0 {
		return nil
	}
	return r.c.Recall(r.polls, partitions)
}
