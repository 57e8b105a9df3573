package queue

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
)

// Kept is what was kept of one queue.
type Kept struct {
	Window *Window // the same as in the queue's Journal

	messages map[int64]*item
	states   map[int64]*item
	groups   map[string]*group // the names of groups
	known    []accepted
	next     int64
	newest   time.Time
}

// IsRecord returns the number of the queue of a record; ok is false if the record is not one of a queue's content.
func IsRecord(key string) (number uint64, ok bool) {
	if len(key) < 9 || !slices.Contains([]byte{recordMessage, recordState, recordKnown, recordNext}, key[0]) {
		return 0, false
	}
	return binary.BigEndian.Uint64([]byte(key[1:9])), true
}

// Add adds a record. Its times are read as durations since the start of a clock.
func (k *Kept) Add(key string, value []byte, c *clock.Clock) error {
	if k.messages == nil {
		k.messages, k.states, k.groups = map[int64]*item{}, map[int64]*item{}, map[string]*group{}
	}
	r := reader{b: string(value), clock: c} // the texts are parts of it
	rest := reader{b: key[9:]}
	switch key[0] {
	case recordNext:
		k.next = int64(r.uvarint())
	case recordKnown:
		group := rest.text()
		a := accepted{key: dedupKey{group: group, id: rest.b}, at: r.moment()}
		a.message, a.sequence = r.text(), r.varint()
		k.known = append(k.known, a)
	case recordState:
		it := r.item()
		it.key = int64(rest.uvarint())
		k.states[it.key] = it
	case recordMessage:
		it := r.item()
		it.key, it.message = int64(rest.uvarint()), r.message()
		it.group = k.group(it.message.Details().Group)
		k.messages[it.key] = it
		(&journal{Journal: &Journal{Window: k.Window}}).hold(it)
	}
	if r.newest.After(k.newest) {
		k.newest = r.newest
	}
	if r.bad || rest.bad || len(r.b) > 0 {
		return fmt.Errorf("queue: the record %q cannot be read", key)
	}
	return nil
}

// group returns what stands for a group's name until its queue is filled.
func (k *Kept) group(name string) *group {
	g := k.groups[name]
	if g == nil {
		name = strings.Clone(name) // a part of the record
		g = &group{name: name}
		k.groups[name] = g
	}
	return g
}

// Newest returns the latest time at which something had happened.
func (k *Kept) Newest() time.Time { return k.newest }

// fill fills a new queue.
func (k *Kept) fill(q *Queue) {
	if k == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := slices.Sorted(maps.Keys(k.messages))
	q.items.first, q.items.next = max(k.next, 1), max(k.next, 1)
	for _, key := range keys {
		it := k.messages[key]
		if s := k.states[key]; s != nil {
			s.key, s.message, s.group = it.key, it.message, it.group
			it = s
		}
		q.items.restore(key, it)
		q.items.next = max(q.items.next, key+1)
		it.enlist(q)
	}
	for key := range k.states {
		if k.messages[key] == nil && !q.journal.Store.Damaged() {
			q.journal.unset(q.journal.itemKey(recordState, key))
		}
	}
	for _, key := range keys {
		if it := q.items.at(key); it.group != nil {
			q.settle(it.group)
		}
	}
	slices.SortFunc(k.known, func(a, b accepted) int { return cmp.Compare(a.at, b.at) })
	for _, a := range k.known {
		q.dedup.add(a)
	}
	q.dedup.forget(q.opts.Clock.Elapsed())
	q.catchUp()
	if q.items.n > 0 {
		q.meter.stir(q)
	}
	q.changed()
}

// enlist puts a kept item where its state belongs. Items come in order of arrival.
func (it *item) enlist(q *Queue) {
	q.counts[it.state]++
	if it.turn > 0 {
		it.past.remember(receive{at: it.past.latest})
	}
	if it.sent < it.entered {
		q.aged.push(it)
	}
	name := it.group.name
	it.group = nil
	if q.opts.FIFO {
		it.group = q.groupOf(name)
		it.group.items.pushBack(it)
		if it.state == InFlight {
			q.flight(it.group, 1)
		}
	}
	switch {
	case it.state != Visible:
		q.timed.push(it)
	case it.group == nil && it.turn > 0:
		q.ready.putBack(it)
	case it.group == nil:
		q.ready.push(it)
	}
}

// Discard deletes what was kept of a queue that does not exist any more.
func (k *Kept) Discard(store keep.Store, number uint64) {
	j := &journal{Journal: &Journal{Store: store, Number: number}}
	for key := range k.messages {
		j.unset(j.itemKey(recordMessage, key))
	}
	for key := range k.states {
		j.unset(j.itemKey(recordState, key))
	}
	for _, a := range k.known {
		j.unknown(a.key)
	}
	j.unset(j.key(recordNext, ""))
	j.write()
}

// reader reads a record. After an error, it returns zeros, and bad is true.
type reader struct {
	b      string
	bad    bool
	clock  *clock.Clock
	newest time.Time
}

func (r *reader) uvarint() uint64 {
	n, w := binary.Uvarint([]byte(r.b[:min(len(r.b), binary.MaxVarintLen64)]))
	return n * r.skip(w)
}

func (r *reader) varint() int64 {
	n, w := binary.Varint([]byte(r.b[:min(len(r.b), binary.MaxVarintLen64)]))
	return n * int64(r.skip(w))
}

// skip skips a number of w bytes, and returns 1; 0: there is no number.
func (r *reader) skip(w int) uint64 {
	if w <= 0 {
		r.b, r.bad = "", true
		return 0
	}
	r.b = r.b[w:]
	return 1
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.b, r.bad = "", true
		return ""
	}
	text := r.b[:n]
	r.b = r.b[n:]
	return text
}

// moment reads a time as a duration since the clock's start.
func (r *reader) moment() time.Duration {
	return time.Unix(0, r.varint()).Sub(r.clock.At(0))
}

// past is the same as moment, for something that has happened.
func (r *reader) past() time.Duration {
	d := r.moment()
	if at := r.clock.At(d); at.After(r.newest) {
		r.newest = at
	}
	return d
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	b := r.b[0]
	r.b = r.b[1:]
	return b
}

func (r *reader) item() *item {
	it := &item{state: State(min(r.byte(), byte(InFlight)))}
	source := r.text()
	_ = r.varint() // the sequence number, which is the key
	it.due, it.sent, it.entered = r.moment(), r.past(), r.past()
	first, latest := r.moment(), r.past()
	it.count, it.turn, it.hiding = int32(r.varint()), turn(r.uvarint()), turn(r.uvarint())
	if source != "" || it.count > 0 {
		p := it.history()
		p.source, p.first, p.latest = strings.Clone(source), first, latest
	}
	return it
}

func (r *reader) message() *Message {
	m, d, sum := &Message{}, Details{}, ""
	for _, text := range []*string{
		&m.ID, &m.Body, &sum, &d.AttributesMD5, &d.Trace, &m.Sender, &d.Group, &d.Dedup,
	} {
		*text = r.text()
	}
	if n, err := hex.Decode(m.MD5[:], []byte(sum)); n != len(m.MD5) || err != nil {
		r.bad = true
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		if d.Attributes == nil {
			d.Attributes = map[string]Attribute{}
		}
		name, a := r.text(), Attribute{Type: r.text(), Text: r.text()}
		if r.byte() == 1 {
			a.Binary = []byte(r.text())
		}
		d.Attributes[name] = a
	}
	m.Given = d.Kept()
	return m
}
