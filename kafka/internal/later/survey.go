package later

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// surveyWait is how long the topic may send nothing before a survey ends with an error.
const surveyWait = 15 * time.Second

// staleAfter is after which time a survey begins at the start of the log again: brokers delete tombstones after a day,
// so a survey that was not continued meanwhile would take what was sent for what waits.
const staleAfter = time.Hour

// Surveys are the surveys of topics that were looked at lately. A survey reads only what is new. The zero value has
// none. They are safe for concurrent use.
type Surveys struct {
	mu  sync.Mutex
	all map[string]*survey
}

// survey is what an operator knows of one topic. The holder of its turn uses the other fields.
type survey struct {
	turn  chan struct{}
	topic cluster.Topic
	parts map[int32]*part
	read  time.Time
}

// Message is a message that waits, as an operator sees it.
type Message struct {
	Partition   int32
	Due, Offset int64
}

// Of are the messages that wait in a topic now, in the order in which they are due. Those that were cancelled are not
// among them.
func (s *Surveys) Of(ctx context.Context, c *cluster.Cluster, t cluster.Topic) ([]Message, error) {
	s.mu.Lock()
	if s.all == nil {
		s.all = map[string]*survey{}
	}
	one := s.all[t.Name]
	if one == nil {
		one = &survey{turn: make(chan struct{}, 1)}
		s.all[t.Name] = one
	}
	s.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-one.turn }()
	if one.topic.ID != t.ID || time.Since(one.read) > staleAfter {
		one.parts = map[int32]*part{}
	}
	one.topic, one.read = t, time.Now()
	if err := one.update(ctx, c); err != nil {
		one.topic = cluster.Topic{} // the next one begins again
		return nil, fmt.Errorf("read topic %s: %w", t.Name, err)
	}
	return one.messages(), nil
}

// update reads what was committed since the last time.
func (s *survey) update(ctx context.Context, c *cluster.Cluster) error {
	starts, ends, err := c.Bounds(ctx, cluster.Stable, s.topic.Name)
	if err != nil {
		return err
	}
	unread := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	for n, end := range ends[s.topic.Name] {
		p := s.parts[n]
		if p == nil {
			p = &part{n: n, index: NewIndex(), ready: -1}
			s.parts[n] = p
		}
		if start, ok := starts.Lookup(s.topic.Name, n); ok {
			p.next = max(p.next, start.Offset)
		}
		if p.next < end.Offset {
			unread[n], from[n] = end.Offset, kgo.NewOffset().At(p.next)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	r, err := c.Read(map[string]map[int32]kgo.Offset{s.topic.Name: from}, surveyWait,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), // a log may end with a control record
		kgo.FetchMaxBytes(fetchMost), kgo.FetchMaxPartitionBytes(fetchShare), kgo.FetchMaxWait(fetchWait))
	if err != nil {
		return err
	}
	defer r.Close()
	for len(unread) > 0 {
		fetches, err := r.Poll(ctx)
		if err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			p := s.parts[r.Partition]
			if end, still := unread[p.n]; !still || r.Offset < p.next || r.Offset >= end {
				return
			}
			if p.note(r); p.next >= unread[p.n] {
				delete(unread, p.n)
			}
		})
	}
	for _, p := range s.parts {
		p.old, p.ready = nil, -1 // it is no owner, which would delete claims and compare clocks
	}
	return nil
}

// messages are those that wait.
func (s *survey) messages() (all []Message) {
	for _, p := range s.parts {
		for _, w := range p.index.times {
			if p.index.Waits(w) && p.decided[w.id] != cancelled {
				all = append(all, Message{p.n, w.Due, w.Offset})
			}
		}
		for id := range p.decided {
			if _, waits := p.index.live[id]; !waits {
				delete(p.decided, id)
			}
		}
	}
	slices.SortFunc(all, func(a, b Message) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Due, b.Due))
	})
	// One whose wait has ended early is there twice.
	all = slices.CompactFunc(all, func(a, b Message) bool { return a.Partition == b.Partition && a.Offset == b.Offset })
	slices.SortStableFunc(all, func(a, b Message) int { return cmp.Compare(a.Due, b.Due) })
	return all
}

// Records reads the records of messages that wait in a topic. Those that the log does not have any more are left out.
func Records(ctx context.Context, c *cluster.Cluster, t cluster.Topic, ms []Message) ([]*kgo.Record, error) {
	all := make([]*due, len(ms))
	for i, m := range ms {
		all[i] = &due{Waiting: Waiting{Due: m.Due, Offset: m.Offset}, of: &part{n: m.Partition}}
	}
	if err := fetch(ctx, c, t, all); err != nil {
		return nil, err
	}
	rs := make([]*kgo.Record, 0, len(all))
	for _, d := range all {
		if d.record != nil {
			rs = append(rs, d.record)
		}
	}
	return rs, nil
}

// fetch reads the records of messages. An index has the offsets of the log as it was read: a record that is not there
// any more was replaced, or removed, and the log says so behind.
func fetch(ctx context.Context, c *cluster.Cluster, t cluster.Topic, batch []*due) error {
	sorted := slices.Clone(batch)
	slices.SortFunc(sorted, func(a, b *due) int {
		return cmp.Or(cmp.Compare(a.of.n, b.of.n), cmp.Compare(a.Offset, b.Offset))
	})
	for empty := 0; len(sorted) > 0; {
		first := sorted[0]
		rs, err := look(ctx, c, t, first.of.n, first.Offset)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			sorted = sorted[1:] // an operator has deleted it
			continue
		}
		if err != nil {
			return fmt.Errorf("read a message that waits: %w", err)
		}
		if len(rs) == 0 {
			if empty++; empty > emptyMost {
				return fmt.Errorf("the broker sends no record from offset %d of partition %d on", first.Offset,
					first.of.n)
			}
			_ = backoff.Sleep(ctx, again.Wait(empty))
			continue
		}
		for _, r := range rs {
			for len(sorted) > 0 && sorted[0].of.n == first.of.n && sorted[0].Offset < r.Offset {
				sorted = sorted[1:] // it is gone
			}
			if len(sorted) > 0 && sorted[0].of.n == first.of.n && sorted[0].Offset == r.Offset {
				sorted[0].record, sorted = r, sorted[1:]
			}
		}
	}
	return nil
}

// IsWaiting reports whether a record in a topic of messages that wait is one of them, and no tombstone, claim or
// cancel.
func IsWaiting(r *kgo.Record) bool {
	_, ok := wire.ParseLaterID(r.Key)
	return ok && r.Value != nil
}
