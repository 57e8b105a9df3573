package godwittest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// journal records what consumers do. The seam records deliveries and verdicts, hooks record attempts with their errors.
type journal struct {
	now  func() time.Time
	gate *gate

	mu     sync.Mutex
	log    map[string]*channelLog
	held   map[driver.Handle]*hold
	starts map[*godwit.Delivery]start
	order  int // number of the latest attempt
}

// channelLog is the journal of one channel.
type channelLog struct {
	messages []*Message // in the order in which they were received first
	byID     map[string]*Message
	handled  int
	dead     []DeadLetter // messages that consumers rejected
}

// hold is a delivery that a consumer holds, or whose verdict the service has not accepted yet.
type hold struct {
	m     *Message
	by    *receiver
	since time.Time
	told  bool // its verdict was reported
	retry bool // an attempt was made, and the consumer holds the delivery until the next one
}

// tell records that there is a verdict, or that there will be none.
func (h *hold) tell() {
	if !h.told {
		h.told = true
		h.m.untold--
	}
}

// start identifies a running handler's attempt. It has an index, because the slice of attempts may be reallocated.
type start struct {
	m       *Message
	attempt int
}

func newJournal(now func() time.Time) *journal {
	return &journal{
		now: now, gate: newGate(), log: map[string]*channelLog{},
		held: map[driver.Handle]*hold{}, starts: map[*godwit.Delivery]start{},
	}
}

// channel returns the journal of a channel. The caller holds the lock.
func (j *journal) channel(name string) *channelLog {
	c := j.log[name]
	if c == nil {
		c = &channelLog{byID: map[string]*Message{}}
		j.log[name] = c
	}
	return c
}

// received records deliveries.
func (j *journal) received(r *receiver, ds []driver.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.channel(r.channel)
	for i := range ds {
		d := &ds[i]
		m := c.byID[d.ID]
		if m == nil {
			m = &Message{
				Channel: r.channel, ID: d.ID, OrderKey: d.OrderKey, Tenant: d.Tenant, RoutingKey: d.RoutingKey,
				Body: slices.Clone(d.Body),
			}
			c.byID[d.ID] = m
			c.messages = append(c.messages, m)
		}
		if m.Received++; m.Received > 1 {
			// The service has not accepted the verdict on an earlier delivery, because it delivers the message again.
			maps.DeleteFunc(j.held, func(_ driver.Handle, h *hold) bool { return h.m == m && h.told })
		}
		m.untold++
		j.held[d.Handle] = &hold{m: m, by: r, since: j.now()}
	}
}

// verdicts records the settlements of deliveries. A settlement may be repeated if the service has not accepted it.
func (j *journal) verdicts(batch []driver.Settlement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range batch {
		if h := j.held[batch[i].Handle]; h != nil && !h.told {
			h.tell()
			j.verdict(h.m, &batch[i])
		}
	}
	j.gate.change()
}

func (j *journal) verdict(m *Message, s *driver.Settlement) {
	a := m.open()
	if a == nil && s.Action == driver.Release {
		return // no attempt was made
	}
	if a == nil { // the consumer does not have our hooks
		a = j.attempt(m, max(int(s.Attempt), m.attempts()+1))
	}
	a.settled = true
	switch s.Action {
	case driver.Done:
		if a.Outcome == dropped || a.Outcome == expired {
			return
		}
		a.Outcome = handled
		if !m.Handled {
			m.Handled = true
			j.channel(m.Channel).handled++
		}
	case driver.Retry:
		a.Outcome = retryAfter(s.After)
	case driver.Reject:
		a.Outcome = deadLettered
		j.deadLetter(m, s.Death)
	case driver.Release:
		if a.Outcome != stopped {
			a.Outcome = released
		}
	}
}

// deadLetter records a dead letter. The caller holds the lock.
func (j *journal) deadLetter(m *Message, d *driver.Death) {
	d = cmp.Or(d, &driver.Death{})
	c := j.channel(m.Channel)
	c.dead = append(c.dead, DeadLetter{
		Body: string(m.Body), Kind: d.Kind, Cause: d.Error, Attempts: int(d.Attempts),
		Consumer: d.Consumer, ID: m.ID,
	})
}

// rejected returns the dead letters of a channel that consumers rejected.
func (j *journal) rejected(channel string) []DeadLetter {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.channel(channel).dead)
}

// unfinished returns copies of the messages of a channel without a final verdict.
func (j *journal) unfinished(channel string) []Message {
	return slices.DeleteFunc(j.messages(channel), func(m Message) bool {
		if len(m.Attempts) == 0 {
			return false
		}
		last := m.Attempts[len(m.Attempts)-1].Outcome
		return m.Handled || last == deadLettered || last == dropped || last == expired
	})
}

// attempt adds an attempt to a message. The caller holds the lock.
func (j *journal) attempt(m *Message, number int) *Attempt {
	j.order++
	m.Attempts = append(m.Attempts, Attempt{Number: number, At: j.now(), order: j.order})
	return &m.Attempts[len(m.Attempts)-1]
}

// holding records that a consumer holds a delivery for a retry, with its number of attempts. For a consumer without our
// hooks, nothing else is known about its attempts.
func (j *journal) holding(handle driver.Handle, starts int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.held[handle]
	if h == nil {
		return
	}
	h.retry = true
	a := h.m.open()
	if a == nil && starts > h.m.attempts() {
		a = j.attempt(h.m, starts)
		a.Outcome = retryHeld
	}
	if a != nil {
		a.settled = true
		if a.Number > starts { // the handler could not start, which is no attempt
			a.Outcome = released
		}
	}
	j.gate.change()
}

// accepted removes deliveries whose verdicts the service has accepted, or that were lost.
func (j *journal) accepted(hs []driver.Handle) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, handle := range hs {
		if h := j.held[handle]; h != nil {
			h.tell()
			delete(j.held, handle)
		}
	}
	j.gate.change()
}

// closed removes a receiver and what it held; its messages are delivered again.
func (j *journal) closed(r *receiver) {
	j.gate.add(j.gate.receivers, r.channel, -1)
	j.mu.Lock()
	defer j.mu.Unlock()
	for handle, h := range j.held {
		if h.by == r {
			h.tell()
			delete(j.held, handle)
		}
	}
	j.gate.change()
}

// hook calls the journal before a consumer's own hooks.
func (j *journal) hook(own godwit.Hooks) godwit.Hooks {
	hooks := own
	hooks.Started = func(d *godwit.Delivery) {
		j.started(d)
		if own.Started != nil {
			own.Started(d)
		}
	}
	hooks.Ended = func(d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) {
		j.ended(d, v, err, took)
		if own.Ended != nil {
			own.Ended(d, v, err, took)
		}
	}
	hooks.Expired = func(d *godwit.Delivery) {
		j.expired(d)
		if own.Expired != nil {
			own.Expired(d)
		}
	}
	return hooks
}

// expired notes that a message has expired. The service may have the verdict already.
func (j *journal) expired(d *godwit.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.channel(d.Channel)
	m := c.byID[d.ID]
	if m == nil {
		return
	}
	last := ""
	if n := len(m.Attempts); n > 0 {
		last = m.Attempts[n-1].Outcome
	}
	switch last {
	case deadLettered:
	case handled:
		m.Handled = false
		c.handled--
		fallthrough
	case dropped:
		m.Attempts[len(m.Attempts)-1].Outcome = expired
	default:
		j.attempt(m, d.Attempt).Outcome = expired
	}
	j.gate.change()
}

func (j *journal) started(d *godwit.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.channel(d.Channel).byID[d.ID]
	if m == nil {
		return // the delivery comes from another backend
	}
	if last := m.open(); last != nil && m.untold == 1 {
		last.settled = true // the consumer held the delivery for this attempt
	}
	j.attempt(m, d.Attempt)
	j.starts[d] = start{m, len(m.Attempts) - 1}
	j.gate.change()
}

func (j *journal) ended(d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, there := j.starts[d]
	if !there {
		return
	}
	delete(j.starts, d)
	a := &s.m.Attempts[s.attempt]
	a.Err, a.Took = err, took
	switch v.Action {
	case godwit.ActionDone:
		a.Outcome = handled // unless the settlement says that the delivery is released
	case godwit.ActionRetry:
		a.Outcome = retryAfter(v.After)
	case godwit.ActionReject:
		a.Outcome = deadLettered
	case godwit.ActionDrop:
		a.Outcome = dropped
	case godwit.ActionStop:
		a.Outcome = stopped
	}
	j.gate.change()
}

// messages returns copies of all messages that were received from a channel.
func (j *journal) messages(channel string) []Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.channel(channel)
	ms := make([]Message, len(c.messages))
	for i, m := range c.messages {
		ms[i] = m.clone()
	}
	return ms
}

// handledOn counts the handled messages of a channel.
func (j *journal) handledOn(channel string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.channel(channel).handled
}

// channels returns the channels from which a message was received.
func (j *journal) channels() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var names []string
	for name, c := range j.log {
		if len(c.messages) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// handling lists the messages in running handlers.
func (j *journal) handling() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, s := range j.starts {
		a := &s.m.Attempts[s.attempt]
		lines = append(lines,
			fmt.Sprintf("  %s: %s at attempt %d, for %v now", s.m.Channel, short(s.m.Body), a.Number,
				j.now().Sub(a.At)))
	}
	slices.Sort(lines)
	return lines
}

// holds lists the held deliveries. It calls inFlight without the lock.
func (j *journal) holds(inFlight func(channel, id string) bool) []string {
	j.mu.Lock()
	type one struct{ channel, id, line string }
	var all []one
	for _, h := range j.held {
		why := "waits in its consumer"
		switch {
		case h.m.runs():
			why = "a handler has it"
		case h.told:
			why = "the service has not accepted its verdict"
		case h.retry:
			why = "its consumer holds it for a retry"
		}
		line := fmt.Sprintf("  %s: %s, received %v ago: %s", h.m.Channel, short(h.m.Body),
			j.now().Sub(h.since).Round(time.Millisecond), why)
		all = append(all, one{h.m.Channel, h.m.ID, line})
	}
	j.mu.Unlock()
	var lines []string
	for _, o := range all {
		if inFlight(o.channel, o.id) {
			lines = append(lines, o.line)
		}
	}
	slices.Sort(lines)
	return lines
}
