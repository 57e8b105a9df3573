package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// lockGrace is how long after its lock's end nobody settles a record any more.
const lockGrace = time.Second

// member is one client in the share group, with the records of its last poll.
type member struct {
	r      *Receiver
	client *client.Client
	idle   chan struct{} // holds one: everything is settled, so the next poll may begin
	acking chan struct{} // holds one while acknowledgements are under way: their answers name partitions, not records

	mu      sync.Mutex
	open    map[*handed]struct{}
	answers map[wire.Partition]error // to the acknowledgements under way
}

// handed is one record under a lock: what a driver.Handle refers to.
type handed struct {
	m      *member
	record *kgo.Record
	ends   time.Time // of the lock; guarded by member.mu
}

// fresh says that a record is handed out for the first time. Only such a record is handled from where it is, or
// released: a broker that hears of a crash gives what was in hand to the fetches that wait, and may yet have to hear
// that these are of the crashed process as well, so that each member of it uses up a delivery that nobody sees. After
// five, by default, it archives the record.
func fresh(rec *kgo.Record) bool { return rec.DeliveryCount() <= 1 }

// join makes a member.
func (r *Receiver) join() (*member, error) {
	m := &member{r: r, idle: make(chan struct{}, 1), acking: make(chan struct{}, 1), open: map[*handed]struct{}{}}
	m.idle <- struct{}{}
	var err error
	m.client, err = r.c.Open(kgo.ShareGroup(r.c.Group), kgo.ConsumeTopics(r.c.Topic), kgo.ShareMaxRecords(r.batch),
		kgo.ShareMaxRecordsStrict(),
		kgo.ShareAckCallback(m.answered), kgo.FetchMaxWait(r.c.FetchWait))
	return m, err
}

// run polls while somebody asks, whenever everything of the last poll is settled.
func (m *member) run() {
	for m.settled() && m.r.queue.await(m.r.polls) {
		ctx, cancel := context.WithTimeout(m.r.polls, m.r.c.FetchWait)
		fetches := m.client.PollRecords(ctx, int(m.r.batch))
		cancel()
		var failed error
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) && !failure.Over(m.r.polls) {
				failed = fmt.Errorf("poll topic %s: %w", m.r.c.Topic, failure.Classify(e.Err))
			}
		}
		ds := m.admit(fetches.Records())
		if len(ds) > 0 || failed != nil {
			m.r.queue.put(ds, failed)
		}
		if failed != nil {
			_ = backoff.Sleep(m.r.polls, pollPause)
		}
	}
}

// settled waits until the next poll may begin. What nobody settled before its lock ended is released, for the next
// poll would accept it.
func (m *member) settled() bool {
	for {
		until := m.last()
		t := time.NewTimer(time.Until(until))
		select {
		case <-m.idle:
			t.Stop()
			return !failure.Over(m.r.polls)
		case <-m.r.polls.Done():
			t.Stop()
			return false
		case <-t.C:
		}
		if time.Until(m.last()) > 0 {
			continue
		}
		// released, and not copied: it may be somebody else's by now
		m.settle(m.r.polls, m.unsettled(), map[int]error{})
	}
}

// unsettled releases what is open.
func (m *member) unsettled() (vs []verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.open {
		vs = append(vs, verdict{
			i: len(vs), of: s, st: driver.Settlement{Action: driver.Release},
			status: kgo.AckRelease,
		})
	}
	return vs
}

// last is when the last lock has ended for good.
func (m *member) last() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) == 0 {
		return time.Now().Add(m.r.c.Lock)
	}
	var last time.Time
	for s := range m.open {
		if s.ends.After(last) {
			last = s.ends
		}
	}
	return last.Add(lockGrace)
}

// admit makes deliveries of records. What is not due, and what was handed out before, goes to a tier instead, from
// where it comes with a count of its own; if it cannot, it is handled: its last delivery may be this one.
func (m *member) admit(rs []*kgo.Record) (ds []driver.Delivery) {
	if len(rs) == 0 {
		wake(m.idle)
		return nil
	}
	var move, accept []verdict
	var later []Copy
	now := time.Now()
	dead := m.recall(rs)
	var passed discard.Tally
	m.mu.Lock()
	hs := make([]handed, len(rs))
	for i, rec := range rs {
		h := &hs[i]
		*h = handed{m: m, record: rec, ends: rec.AcquisitionDeadline()}
		m.open[h] = struct{}{}
		at, delayed := wire.Due(rec)
		switch {
		case dead.Has(rec.Partition, rec.Offset):
			passed.Finished++
			accept = append(accept, verdict{of: h, status: kgo.AckAccept})
		case !wire.Matches(m.r.c.Options.Filter, rec):
			passed.Filtered++
			accept = append(accept, verdict{of: h, status: kgo.AckAccept})
		case delayed && at.After(now), !fresh(rec):
			if at.Before(now) {
				at = now
			}
			move, later = append(move, verdict{of: h, status: kgo.AckAccept}), append(later, Copy{Record: rec, Due: at})
		default:
			ds = m.r.deliver(h, ds)
		}
	}
	m.mu.Unlock()
	passed.Tell(m.r.c.Options.Events)
	if len(later) > 0 {
		for k, err := range m.r.c.Retry(m.r.polls, later) {
			switch h := move[k].of; {
			case err == nil:
				accept = append(accept, move[k])
			case !fresh(h.record):
				ds = m.r.deliver(h, ds)
			} // else it is not due: its lock ends, and it comes once more
		}
	}
	m.settle(m.r.polls, accept, map[int]error{})
	return ds
}

// deliver appends the delivery of a record.
func (r *Receiver) deliver(h *handed, ds []driver.Delivery) []driver.Delivery {
	ds = append(ds, driver.Delivery{
		Source: &r.source, Handle: driver.Handle{Ref: h}, LeaseEnds: h.ends,
		Received: h.record.DeliveryCount(),
	})
	d := &ds[len(ds)-1]
	wire.Decode(h.record, d)
	d.OrderKey, d.Tenant = "", d.OrderKey
	return ds
}

// recall looks up which of the records of a poll are dead letters already. A share group commits no metadata that could
// tell; but what was rejected and not accepted, because its process ended in between, is handed out once more than
// before, and only for such records the newest dead letters of their partitions are read.
func (m *member) recall(rs []*kgo.Record) deadletter.Known {
	var partitions []int32
	for _, rec := range rs {
		if !fresh(rec) && !slices.Contains(partitions, rec.Partition) {
			partitions = append(partitions, rec.Partition)
		}
	}
	if len(partitions) == 0 {
		return nil
	}
	return m.r.c.Recall(m.r.polls, partitions)
}

// settle acknowledges records, and waits for the answers.
func (m *member) settle(ctx context.Context, vs []verdict, errs map[int]error) {
	m.acknowledge(ctx, vs, errs)
	m.mu.Lock()
	for _, v := range vs {
		delete(m.open, v.of)
	}
	idle := len(vs) > 0 && len(m.open) == 0
	m.mu.Unlock()
	if idle {
		wake(m.idle)
	}
}

// renew makes locks last from now on.
func (m *member) renew(ctx context.Context, vs []verdict, ends time.Time, errs map[int]error) {
	m.acknowledge(ctx, vs, errs)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range vs {
		if errs[v.i] == nil {
			v.of.ends = ends
		}
	}
}

// acknowledge sends what becomes of records. Those that are no longer ours, or settled before, are lost.
func (m *member) acknowledge(ctx context.Context, vs []verdict, errs map[int]error) {
	if len(vs) == 0 {
		return
	}
	select {
	case m.acking <- struct{}{}:
	case <-ctx.Done():
		for _, v := range vs {
			errs[v.i] = failure.Classify(context.Cause(ctx))
		}
		return
	}
	defer func() { <-m.acking }()
	m.mu.Lock()
	m.answers = map[wire.Partition]error{}
	var sent []verdict
	for _, v := range vs {
		if _, open := m.open[v.of]; !open {
			errs[v.i] = &driver.Error{Class: driver.Permanent, Err: driver.ErrLost}
			continue
		}
		sent = append(sent, v)
	}
	m.mu.Unlock()
	for _, v := range sent {
		v.of.record.Ack(v.status)
	}
	err := m.client.FlushAcks(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range sent {
		lost := m.answers[wire.Partition{Topic: v.of.record.Topic, N: v.of.record.Partition}]
		switch {
		case err != nil:
			errs[v.i] = failure.Classify(err)
		case lost != nil:
			errs[v.i] = &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("%w: %w", driver.ErrLost, lost)}
		}
	}
}

// answered keeps what the broker says.
func (m *member) answered(_ *kgo.Client, results kgo.ShareAckResults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range results {
		if one.Err != nil && m.answers != nil {
			m.answers[wire.Partition{Topic: one.Topic, N: one.Partition}] = one.Err
		}
	}
}

// close releases what is open, and leaves.
func (m *member) close(ctx context.Context) error {
	errs := map[int]error{}
	m.settle(ctx, m.r.publish(ctx, m.unsettled(), errs), errs) // what fails comes back when its lock ends
	return m.client.Close(ctx)
}
