package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// shareLock is brokers' default, for where they may not be asked.
	shareLock = 30 * time.Second
	// lockGrace is how long after its lock's end nobody settles a record any more.
	lockGrace = time.Second
)

// shareMember is one client in the share group, with the records of its last poll.
type shareMember struct {
	r      *shareReceiver
	client *client.Client
	idle   chan struct{} // holds one: everything is settled, so the next poll may begin
	acking chan struct{} // holds one while acknowledgements are under way: their answers name partitions, not records

	mu      sync.Mutex
	open    map[*shared]struct{}
	answers map[wire.Partition]error // to the acknowledgements under way
}

// shared is one record under a lock: what a driver.Handle refers to.
type shared struct {
	m      *shareMember
	record *kgo.Record
	ends   time.Time // of the lock; guarded by shareMember.mu
}

// verdict is what becomes of one record.
type verdict struct {
	i      int // of the batch's entry
	s      *shared
	st     driver.Settlement
	status kgo.AckStatus
}

// fresh says that a record is handed out for the first time. Only such a one is handled from where it is, or given back: a broker
// that hears of a crash gives what was in hand to the fetches that wait, and may yet have to hear that these are of the crashed
// process as well, so that each member of it uses up a delivery that nobody sees. After five, by default, it archives the record.
func fresh(rec *kgo.Record) bool { return rec.DeliveryCount() <= 1 }

func (r *shareReceiver) join() (*shareMember, error) {
	m := &shareMember{r: r, idle: make(chan struct{}, 1), acking: make(chan struct{}, 1), open: map[*shared]struct{}{}}
	m.idle <- struct{}{}
	opts, err := r.b.o.clientOptions(r.b.log, kgo.ShareGroup(r.group), kgo.ConsumeTopics(r.topic), kgo.ShareMaxRecords(r.batch), kgo.ShareMaxRecordsStrict(),
		kgo.ShareAckCallback(m.answered), kgo.FetchMaxWait(fetchWait))
	if err != nil {
		return nil, err
	}
	if m.client, err = client.New(opts); err != nil {
		return nil, err
	}
	return m, nil
}

// run polls while somebody asks, whenever everything of the last poll is settled.
func (m *shareMember) run() {
	for m.settled() && m.r.asked() {
		ctx, cancel := context.WithTimeout(m.r.polls, fetchWait)
		fetches := m.client.PollRecords(ctx, int(m.r.batch))
		cancel()
		var failed error
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) && !failure.Over(m.r.polls) {
				failed = fmt.Errorf("poll topic %s: %w", m.r.topic, failure.Classify(e.Err))
			}
		}
		ds := m.admit(fetches.Records())
		if len(ds) > 0 || failed != nil {
			m.r.push(ds, failed)
		}
		if failed != nil {
			pause(m.r.polls, time.Second)
		}
	}
}

// settled waits until the next poll may begin. What nobody settled before its lock ended is given back, for the next poll would
// accept it.
func (m *shareMember) settled() bool {
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
		m.settle(m.r.polls, m.unsettled(), map[int]error{}) // given back, and not copied: it may be somebody else's by now
	}
}

// unsettled gives back what is open.
func (m *shareMember) unsettled() (vs []verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.open {
		vs = append(vs, verdict{i: len(vs), s: s, st: driver.Settlement{Action: driver.Release}, status: kgo.AckRelease})
	}
	return vs
}

// last is when the last lock has ended for good.
func (m *shareMember) last() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) == 0 {
		return time.Now().Add(m.r.lock)
	}
	var last time.Time
	for s := range m.open {
		if s.ends.After(last) {
			last = s.ends
		}
	}
	return last.Add(lockGrace)
}

// admit makes deliveries of records. What is not due, and what was handed out before, goes to a tier instead, from where it
// comes with a count of its own; if it cannot, it is handled: its last delivery may be this one.
func (m *shareMember) admit(rs []*kgo.Record) (ds []driver.Delivery) {
	var move, drop []verdict
	var later []Later
	now := time.Now()
	dead := m.r.recall(rs)
	var passed passedOver
	m.mu.Lock()
	ss := make([]shared, len(rs))
	hand := func(s *shared) {
		ds = append(ds, driver.Delivery{Source: &m.r.source, Handle: driver.Handle{Ref: s}, LeaseEnds: s.ends, Received: s.record.DeliveryCount()})
		d := &ds[len(ds)-1]
		wire.Decode(s.record, d)
		d.OrderKey, d.Tenant = "", d.OrderKey
	}
	for i, rec := range rs {
		s := &ss[i]
		*s = shared{m: m, record: rec, ends: rec.AcquisitionDeadline()}
		m.open[s] = struct{}{}
		at, delayed := wire.Due(rec)
		switch {
		case died(dead, rec), !wire.Matches(m.r.o.Filter, rec):
			passed.count(died(dead, rec))
			drop = append(drop, verdict{s: s, status: kgo.AckAccept})
		case delayed && at.After(now), !fresh(rec):
			if at.Before(now) {
				at = now
			}
			move, later = append(move, verdict{s: s, status: kgo.AckAccept}), append(later, Later{Record: rec, Due: at})
		default:
			hand(s)
		}
	}
	m.mu.Unlock()
	passed.tell(m.r.o.Events)
	if len(rs) == 0 {
		wake(m.idle)
		return nil
	}
	if len(later) > 0 {
		for k, err := range m.r.retry.Put(m.r.polls, later) {
			switch s := move[k].s; {
			case err == nil:
				drop = append(drop, move[k])
			case !fresh(s.record):
				hand(s)
			} // else it is not due: its lock ends, and it comes once more
		}
	}
	m.settle(m.r.polls, drop, map[int]error{})
	return ds
}

// settle acknowledges records, and waits for the answers.
func (m *shareMember) settle(ctx context.Context, vs []verdict, errs map[int]error) {
	m.acknowledge(ctx, vs, errs)
	m.mu.Lock()
	for _, v := range vs {
		delete(m.open, v.s)
	}
	idle := len(vs) > 0 && len(m.open) == 0
	m.mu.Unlock()
	if idle {
		wake(m.idle)
	}
}

// renew makes locks last from now on.
func (m *shareMember) renew(ctx context.Context, vs []verdict, ends time.Time, errs map[int]error) {
	m.acknowledge(ctx, vs, errs)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range vs {
		if errs[v.i] == nil {
			v.s.ends = ends
		}
	}
}

// acknowledge sends what becomes of records. Those that are no longer ours, or settled before, are lost.
func (m *shareMember) acknowledge(ctx context.Context, vs []verdict, errs map[int]error) {
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
		if _, open := m.open[v.s]; !open {
			errs[v.i] = &driver.Error{Class: driver.Permanent, Err: driver.ErrLost}
			continue
		}
		sent = append(sent, v)
	}
	m.mu.Unlock()
	for _, v := range sent {
		v.s.record.Ack(v.status)
	}
	err := m.client.FlushAcks(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range sent {
		lost := m.answers[wire.Partition{Topic: v.s.record.Topic, N: v.s.record.Partition}]
		switch {
		case err != nil:
			errs[v.i] = failure.Classify(err)
		case lost != nil:
			errs[v.i] = &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("%w: %w", driver.ErrLost, lost)}
		}
	}
}

// answered keeps what the broker says.
func (m *shareMember) answered(_ *kgo.Client, results kgo.ShareAckResults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range results {
		if one.Err != nil && m.answers != nil {
			m.answers[wire.Partition{Topic: one.Topic, N: one.Partition}] = one.Err
		}
	}
}

// close gives back what is open, and leaves.
func (m *shareMember) close(ctx context.Context) error {
	errs := map[int]error{}
	m.settle(ctx, m.r.copyOut(ctx, m.unsettled(), errs), errs) // what fails comes back when its lock ends
	return m.client.Close(ctx)
}

// lockOf asks how long a group's locks last.
func (b *Backend) lockOf(ctx context.Context, group string) (time.Duration, error) {
	lock := shareLock
	req := kmsg.NewPtrDescribeConfigsRequest()
	one := kmsg.NewDescribeConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return lock, fmt.Errorf("ask for the configuration of group %s: %w", group, failure.Classify(err))
	}
	for _, r := range resp.Resources {
		if kerr.ErrorForCode(r.ErrorCode) != nil {
			continue // not permitted: brokers' defaults
		}
		for _, c := range r.Configs {
			if c.Value == nil {
				continue
			}
			if n, perr := strconv.Atoi(*c.Value); perr == nil && n > 0 && c.Name == "share.record.lock.duration.ms" {
				lock = time.Duration(n) * time.Millisecond
			}
		}
	}
	return lock, nil
}

// startShare lets a share group begin at the start of the log, as the other groups do; brokers would begin at its end.
func (b *Backend) startShare(ctx context.Context, group string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	one := kmsg.NewIncrementalAlterConfigsRequestResource()
	one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	start := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	from := "earliest"
	start.Name, start.Op, start.Value = "share.auto.offset.reset", kmsg.IncrementalAlterConfigOpSet, &from
	one.Configs = append(one.Configs, start)
	req.Resources = append(req.Resources, one)
	resp, err := req.RequestWith(ctx, b.client)
	if err == nil && len(resp.Resources) == 1 {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("let group %s begin at the start of its log: %w", group, failure.Classify(err))
	}
	return nil
}
