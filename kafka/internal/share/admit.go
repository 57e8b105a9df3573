package share

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// digestRecords makes locks of the records that an answer brought, and returns how many held locks are gone because of
// it. The caller holds the lock.
func (s *session) digestRecords(a *answer, ends time.Time) (runs []*run, freed int) {
	for n := range a.failed {
		freed += s.dropAll(n) // a new leader knows nothing of locks
	}
	for i := range a.got {
		g := &a.got[i]
		records, err := s.decode.records(g.n, g.raw)
		missing := gap
		if err != nil {
			missing = release // it could not be read: perhaps it can the next time
			a.failed[g.n] = err
		}
		u := &run{s: s, partition: g.n}
		var acquired int64
		for _, r := range g.acquired {
			acquired += r.LastOffset - r.FirstOffset + 1
		}
		u.locks = make([]lock, 0, min(acquired, int64(len(records))))
		for _, r := range g.acquired {
			freed += s.replaced(g.n, r.FirstOffset, r.LastOffset)
			from, _ := slices.BinarySearchFunc(records, r.FirstOffset, func(rec *kgo.Record, at int64) int {
				return int(min(max(rec.Offset-at, -1), 1))
			})
			next := r.FirstOffset
			for _, rec := range records[from:] {
				if rec.Offset > r.LastOffset {
					break
				}
				s.absent(g.n, next, rec.Offset-1, missing)
				u.locks = append(u.locks, lock{run: u, record: rec, count: r.DeliveryCount, ends: ends})
				next = rec.Offset + 1
			}
			s.absent(g.n, next, r.LastOffset, missing)
		}
		if n := len(records); n > 0 && g.acquired[len(g.acquired)-1].LastOffset >= records[n-1].Offset {
			s.decode.forget(g.n)
		}
		if u.open = len(u.locks); u.open > 0 {
			s.runs[g.n] = append(s.runs[g.n], u)
			runs = append(runs, u)
		}
	}
	return runs, freed
}

// absent acknowledges offsets without a record. The caller holds the lock.
func (s *session) absent(partition int32, first, last int64, what ackType) {
	if first <= last {
		s.pending = append(s.pending, ack{partition: partition, first: first, last: last, what: what})
	}
}

// replaced ends the locks of offsets that the broker has delivered again, because their time was over, and returns how
// many had no verdict. The caller holds the lock.
func (s *session) replaced(partition int32, first, last int64) (freed int) {
	for _, u := range slices.Clone(s.runs[partition]) {
		if n := len(u.locks); u.locks[0].record.Offset > last || u.locks[n-1].record.Offset < first {
			continue
		}
		for i := range u.locks {
			if at := u.locks[i].record.Offset; at >= first && at <= last {
				freed += s.drop(&u.locks[i])
			}
		}
	}
	return freed
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
	var copies []Copy
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
		moving, copies = append(moving, l), append(copies, Copy{Record: l.record, Due: at})
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
