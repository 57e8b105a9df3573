package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// naive is the simplest implementation of a queue: a list that is searched each time.
type naive struct {
	fifo     bool
	messages []*naiveMessage // in order of arrival
	accepted map[string]time.Time
}

type naiveMessage struct {
	id, group string
	until     time.Time // not visible before
	flying    bool
	handle    string
}

// visible lists the messages that may be received, by checking every message.
func (n *naive) visible() []string {
	now := time.Now()
	var ids []string
	blocked := map[string]bool{}
	for _, m := range n.messages {
		hidden := m.until.After(now)
		if n.fifo {
			if hidden {
				blocked[m.group] = true
			}
			if blocked[m.group] {
				continue
			}
		} else if hidden {
			continue
		}
		ids = append(ids, m.id)
	}
	slices.Sort(ids)
	return ids
}

func (n *naive) find(id string) *naiveMessage {
	for _, m := range n.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// TestAgainstANaiveQueue makes the same random steps on both queues in virtual time, and compares which messages can be
// received, and the order in FIFO groups.
func TestAgainstANaiveQueue(t *testing.T) {
	first := rand.Uint64()
	for i := range uint64(60) {
		seed := first + i
		for _, isFIFO := range []bool{false, true} {
			for _, kept := range []*shelf{nil, newShelf(0), newShelf(3000), newShelf(1 << 20)} {
				synctest.Test(t, func(t *testing.T) { walk(t, seed, isFIFO, kept) })
				if t.Failed() {
					t.Fatalf("seed %d, FIFO %v, kept %+v", seed, isFIFO, kept)
				}
			}
		}
	}
}

func walk(t *testing.T, seed uint64, isFIFO bool, kept *shelf) {
	r := rand.New(rand.NewPCG(seed, 1))
	c := clock.New()
	defer c.Close()
	build := func() *queue.Queue {
		return newQueue(t, func(o *queue.Options) {
			o.FIFO, o.Clock = isFIFO, c
			if kept != nil {
				o.Journal = kept.journal(t, c)
			}
		})
	}
	q := build()
	n := &naive{fifo: isFIFO, accepted: map[string]time.Time{}}
	defer func() {
		if q.Purge(); kept != nil && kept.window.Used() != 0 {
			t.Errorf("an empty queue uses %d bytes", kept.window.Used())
		}
	}()
	for step := range 300 {
		if kept != nil && r.IntN(40) == 0 {
			q = build() // another process, with what the store has
		}
		switch r.IntN(6) {
		case 0, 1:
			stepPut(t, r, q, n, step)
		case 2, 3:
			stepReceive(t, r, q, n)
		case 4:
			stepSettle(t, r, q, n)
		case 5:
			time.Sleep(time.Duration(r.IntN(20)) * time.Second)
		}
		if t.Failed() {
			return
		}
	}
}

func stepPut(t *testing.T, r *rand.Rand, q *queue.Queue, n *naive, step int) {
	p := message(fmt.Sprintf("m%03d", step), fmt.Sprint("g", r.IntN(3)))
	p.Message.Given.Dedup = fmt.Sprint("d", r.IntN(40))
	if !n.fifo {
		p.Delay = time.Duration(r.IntN(3)) * 7 * time.Second
	}
	out, err := q.Put(p)
	if err != nil {
		t.Error(err)
		return
	}
	at, known := n.accepted[p.Message.Given.Dedup]
	duplicate := n.fifo && known && time.Since(at) < queue.DedupWindow
	if out[0].Duplicate != duplicate {
		t.Errorf("%s: duplicate %v, want %v", p.Message.ID, out[0].Duplicate, duplicate)
	}
	if duplicate {
		return
	}
	n.accepted[p.Message.Given.Dedup] = time.Now()
	m := &naiveMessage{id: p.Message.ID, group: p.Message.Given.Group}
	if p.Delay > 0 {
		m.until = time.Now().Add(p.Delay)
	}
	n.messages = append(n.messages, m)
}

func stepReceive(t *testing.T, r *rand.Rand, q *queue.Queue, n *naive) {
	allowed := n.visible()
	max := 1 + r.IntN(10)
	visibility := time.Duration(r.IntN(30)) * time.Second
	got, err := q.Receive(t.Context(), queue.Receive{Max: max, Visibility: visibility})
	if err != nil {
		t.Error(err)
		return
	}
	if len(got) != min(max, len(allowed)) {
		t.Errorf("received %d, want %d of %v", len(got), min(max, len(allowed)), allowed)
	}
	last := map[string]string{}
	for _, g := range got {
		if !slices.Contains(allowed, g.ID) {
			t.Errorf("%s may not be received; %v may", g.ID, allowed)
			return
		}
		if n.fifo && g.ID < last[g.Details().Group] {
			t.Errorf("%s came after %s of its group", g.ID, last[g.Details().Group])
		}
		if last[g.Details().Group] = g.ID; g.Body != g.ID {
			t.Errorf("%s has the body %q", g.ID, g.Body)
		}
		m := n.find(g.ID)
		m.handle, m.flying, m.until = g.Handle, true, time.Now().Add(visibility)
	}
}

// stepSettle deletes a message, or changes its visibility, with its newest handle.
func stepSettle(t *testing.T, r *rand.Rand, q *queue.Queue, n *naive) {
	var held []*naiveMessage
	for _, m := range n.messages {
		if m.flying {
			held = append(held, m)
		}
	}
	if len(held) == 0 {
		return
	}
	m := held[r.IntN(len(held))]
	expired := !m.until.After(time.Now())
	if r.IntN(2) == 0 {
		err := q.DeleteMessage(m.handle)
		if (err != nil) != (n.fifo && expired) {
			t.Errorf("delete %s, expired %v: %v", m.id, expired, err)
		}
		if err == nil {
			n.messages = slices.DeleteFunc(n.messages, func(x *naiveMessage) bool { return x == m })
		}
		return
	}
	d := time.Duration(r.IntN(3)) * 10 * time.Second
	err := q.ChangeVisibility(m.handle, d)
	if (err != nil) != (n.fifo && expired) {
		t.Errorf("change %s, expired %v: %v", m.id, expired, err)
	}
	if err == nil {
		m.until = time.Now().Add(d)
	}
}
