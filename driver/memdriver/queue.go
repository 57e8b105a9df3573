package memdriver

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// queue holds messages. The backend's lock guards it.
type queue struct {
	spec    driver.ChannelSpec
	dead    *queue // nil: the channel has no dead letters
	lanes   laneHeap
	byKey   map[string]*lane // used only where order is kept
	direct  *exchange        // the way to this queue alone, past its exchange; nil: not used yet
	paused  bool
	gone    bool // it was removed
	arrived uint64
	changed chan struct{} // closed when polls should look again; nil while no poll waits
}

// lane holds the messages of one order key, in order. Where order is not kept, every message is a lane of its own.
type lane struct {
	key      string
	messages []*message // never empty while the lane is in the heap
	out      []*message // those of them that the last receive took and that are not settled yet
	due      time.Time  // when the lane can be received: its head is due, and no lease in the lane lasts
	at       int        // its index in the heap
}

// message is one message in one queue.
type message struct {
	*driver.Message // as prepared; shared by queues and never modified
	id              string
	seq             uint64    // breaks ties between messages that are due at the same time
	first           time.Time // when it was accepted for the first time
	sent, due       time.Time
	received        int32    // how often it was received; handles of the last receive are valid
	attempt         int32    // attempts that a receiver has reported
	died            []string // the ids that it had when it was rejected
	origin          *driver.Origin
	lane            *lane // nil: the message is finished
}

// put adds a message, at the end of its lane.
func (q *queue) put(m *message) {
	q.arrived++
	m.seq = q.arrived
	m.lane = q.byKey[m.OrderKey]
	if m.lane == nil {
		m.lane = &lane{key: m.OrderKey, due: m.due}
		if q.spec.Channel.Ordered {
			q.byKey[m.OrderKey] = m.lane
		}
	}
	m.lane.messages = append(m.lane.messages, m)
	if len(m.lane.messages) == 1 {
		heap.Push(&q.lanes, m.lane)
		q.wake()
	}
}

// take appends at most most deliveries that are due now, with leases until ends. It finishes messages that the filter
// refuses, and returns their ids. Messages that were received too often become dead letters.
func (q *queue) take(now, ends time.Time, most int, f driver.Filter, into []driver.Delivery) (
	ds []driver.Delivery, refused []string,
) {
	for most += len(into); len(into) < most && len(q.lanes) > 0 && !q.lanes[0].due.After(now); {
		l := q.lanes[0]
		l.out = l.out[:0] // their leases have ended, or the lane would not be due
		for i := 0; i < len(l.messages) && len(into) < most && !l.messages[i].due.After(now); {
			switch m := l.messages[i]; {
			case !passes(f, m.RoutingKey):
				refused = append(refused, m.id)
				q.remove(m)
			case q.dead != nil && q.spec.MaxReceives > 0 && int(m.received) >= q.spec.MaxReceives:
				q.deadLetter(m, driver.Death{}, now)
			default:
				m.received++
				m.due = ends
				l.out = append(l.out, m)
				into = append(into, q.delivery(m))
				i++
			}
		}
		q.fix(l)
	}
	return into, refused
}

// delivery returns the delivery of a message; the receiver adds its source.
func (q *queue) delivery(m *message) driver.Delivery {
	d := driver.Delivery{
		ID: m.id, RoutingKey: m.RoutingKey, ContentType: m.ContentType, Type: m.Type, Version: m.Version,
		Header: m.Header, Body: m.Body, Attempt: m.attempt, Received: m.received, SentAt: m.sent, LeaseEnds: m.due,
		Expires: m.Expires, First: m.first, Origin: m.origin, Handle: driver.Handle{Ref: m, Seq: uint64(m.received)},
	}
	switch {
	case m.Delay > 0:
		d.Due = m.sent.Add(m.Delay)
	case m.At.After(m.sent):
		d.Due = m.At
	}
	if q.spec.Channel.Ordered {
		d.OrderKey = m.OrderKey
	} else {
		d.Tenant = m.OrderKey
	}
	return d
}

// settle applies one settlement.
func (q *queue) settle(s *driver.Settlement, now time.Time) error {
	m := s.Handle.Ref.(*message)
	switch ours := s.Handle.Seq == uint64(m.received); {
	case m.lane == nil, !ours && (s.Action != driver.Done || m.held(now)):
		return driver.ErrLost // a late settlement still counts, unless another receiver holds the message
	case s.Action == driver.Reject && q.dead == nil:
		return permanent("channel %s has no dead letters to reject message %s to: provision it without NoDeadLetters",
			q.spec.Channel, m.id)
	}
	l := m.lane
	switch s.Action {
	case driver.Done:
		q.remove(m)
	case driver.Release:
		m.due = now
	case driver.Retry:
		m.due, m.attempt = now.Add(s.After), s.Attempt
	case driver.Reject:
		q.deadLetter(m, *s.Death, now)
	}
	l.unhold(m)
	q.fix(l)
	return nil
}

// extend makes a lease last until ends.
func (q *queue) extend(h driver.Handle, now, ends time.Time) error {
	m := h.Ref.(*message)
	if h.Seq != uint64(m.received) || !m.held(now) {
		return driver.ErrLost
	}
	m.due = ends
	q.fix(m.lane)
	return nil
}

// deadLetter moves a message to the dead letters.
func (q *queue) deadLetter(m *message, d driver.Death, now time.Time) {
	q.remove(m)
	died := append(slices.Clone(m.died), m.id)
	origin := driver.Origin{
		Channel: q.spec.Channel, ID: m.id, OrderKey: m.OrderKey, Death: d, Deaths: len(died), Earlier: m.died,
	}
	q.dead.put(&message{
		Message: m.Message, id: m.id, first: m.first, sent: now, due: now, died: died, origin: &origin,
	})
}

// remove finishes a message. The caller then calls fix on its lane.
func (q *queue) remove(m *message) {
	l := m.lane
	m.lane = nil
	i := slices.Index(l.messages, m) // near the head, like every message that was received: moving the head is cheap
	copy(l.messages[1:i+1], l.messages[:i])
	l.messages[0] = nil
	l.messages = l.messages[1:]
}

// fix moves a lane to its place in the heap after a change.
func (q *queue) fix(l *lane) {
	q.wake()
	if len(l.messages) == 0 {
		heap.Remove(&q.lanes, l.at)
		if q.byKey[l.key] == l {
			delete(q.byKey, l.key)
		}
		return
	}
	l.due = l.messages[0].due
	for _, m := range l.out { // the lane waits for every message of the last receive, otherwise its order is lost
		if m.due.After(l.due) {
			l.due = m.due
		}
	}
	heap.Fix(&q.lanes, l.at)
}

// held reports whether a receiver holds the message under its lease.
func (m *message) held(now time.Time) bool {
	return m.lane != nil && m.due.After(now) && slices.Contains(m.lane.out, m)
}

// unhold removes a message from those that a receiver holds.
func (l *lane) unhold(m *message) {
	if i := slices.Index(l.out, m); i >= 0 {
		l.out = slices.Delete(l.out, i, i+1)
	}
}

// wake makes all waiting polls look again. It closes a channel while the lock is held, which never blocks.
func (q *queue) wake() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// pause is a poll's wait for a message.
type pause struct {
	changed <-chan struct{} // closed at the queue's next change
	until   time.Time       // when the next message is due if the queue does not change
}

// pause begins a wait that lasts at most until end.
func (q *queue) pause(end time.Time) pause {
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	if len(q.lanes) > 0 && q.lanes[0].due.Before(end) {
		end = q.lanes[0].due
	}
	return pause{q.changed, end}
}

// wait returns when the pause is over or the context ends. The caller must not hold the lock.
func (p pause) wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(p.until))
	defer timer.Stop()
	select {
	case <-p.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (q *queue) depth(now time.Time) (d driver.Depth) {
	for _, l := range q.lanes {
		for _, m := range l.messages {
			switch {
			case m.held(now):
				d.InFlight++
			case m.due.After(now):
				d.Delayed++
			default:
				d.Waiting++
				d.Oldest = max(d.Oldest, now.Sub(m.sent))
			}
		}
	}
	return d
}

// verify reports the differences between the queue and a specification.
func (q *queue) verify(s *driver.ChannelSpec) error {
	var differ []string
	has, want := attributes(&q.spec), attributes(s)
	for i := range has {
		if has[i] != want[i] {
			differ = append(differ, has[i]+" instead of "+want[i])
		}
	}
	if q.dead == nil && !s.NoDeadLetters {
		differ = append(differ, "no dead letters")
	}
	if len(differ) == 0 {
		return nil
	}
	return permanent("channel %s has %s: provision it again, or change the consumer's options",
		s.Channel, strings.Join(differ, ", "))
}

// attributes are what a consumer can change of its queue.
func attributes(s *driver.ChannelSpec) [5]string {
	return [...]string{
		fmt.Sprintf("the filter %q", s.Filter), fmt.Sprintf("a delay of %v", s.Delay),
		fmt.Sprintf("a lease of %v", cmp.Or(s.Lease, defaultLease)), fmt.Sprintf("at most %d receives", s.MaxReceives),
		fmt.Sprintf("HighThroughput %v", s.HighThroughput),
	}
}

// passes reports whether a filter lets a routing key pass.
func passes(f driver.Filter, key string) bool {
	if f.IsZero() {
		return true
	}
	if len(f.Exclude) > 0 {
		return !slices.Contains(f.Exclude, key)
	}
	return slices.Contains(f.Exact, key) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(key, p) })
}

// clone returns a copy of a filter.
func clone(f driver.Filter) driver.Filter {
	return driver.Filter{
		Exact: slices.Clone(f.Exact), Prefix: slices.Clone(f.Prefix), Exclude: slices.Clone(f.Exclude),
	}
}

// laneHeap orders lanes by due time, then by sequence.
type laneHeap []*lane

func (h laneHeap) Len() int { return len(h) }

func (h laneHeap) Less(i, j int) bool {
	if c := h[i].due.Compare(h[j].due); c != 0 {
		return c < 0
	}
	return h[i].messages[0].seq < h[j].messages[0].seq
}

func (h laneHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push and Pop implement container/heap.
func (h *laneHeap) Push(l any) {
	l.(*lane).at = len(*h)
	*h = append(*h, l.(*lane))
}

func (h *laneHeap) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return l
}
