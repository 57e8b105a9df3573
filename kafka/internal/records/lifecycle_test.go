package records

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// newTestLedger returns a ledger with one open epoch of the channel's topic. Its rules are those of a channel with the
// default options, changed by change.
func newTestLedger(t *testing.T, change ...func(r *Rules)) (*Ledger, *Epoch) {
	t.Helper()
	r := Rules{
		Channel: "orders", Topic: "orders", Consumer: "orders", Blocks: true, Rejects: true, Recycles: true,
		Places: Window, Commit: 5_000,
	}
	for _, c := range change {
		if c != nil {
			c(&r)
		}
	}
	l := New(r)
	m := newTestMember()
	l.Epochs.Assign(m, map[string][]int32{"orders": {0}})
	e := l.Epochs.Start(m, wire.Partition{Topic: "orders"}, 0, "")
	if e == nil {
		t.Fatal("no epoch began")
	}
	return l, e
}

// newTestMember is a member that knows no ids of topics.
func newTestMember() *Member {
	return &Member{Group: "orders", Topics: map[string]kadm.TopicID{}}
}

// parks are the rules of RetryPark.
func parks(r *Rules) {
	r.Parks, r.Blocks, r.Retries, r.Moves, r.MarksEnds = true, false, true, true, true
}

// everyStage is all stages.
func everyStage() (all []stage) {
	for s := admitted; s <= finished; s++ {
		all = append(all, s)
	}
	return all
}

// at returns a message of key k in a stage, which it has reached by the shortest way.
func (l *Ledger) at(t *testing.T, e *Epoch, to stage) *Message {
	t.Helper()
	m := l.messages.take()
	m.Epoch, m.Record = e, &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: e.next + 1, Value: []byte("body")}
	e.next++
	m.seq, _, _ = e.tracker.Admit(e.next, 0, nil)
	m.stage = admitted
	way := map[stage][]stage{
		kept: {delivered, rejecting, kept}, retrying: {delivered, retrying},
		rejecting: {delivered, rejecting}, publishing: {delivered, publishing}, admitted: nil,
	}
	steps, known := way[to]
	if !known {
		steps = []stage{to}
	}
	for _, s := range steps {
		if !l.move(m, s) {
			t.Fatalf("from %s to %s: the message cannot go there", m.stage, s)
		}
	}
	return m
}

// A message moves only as the table followers permits, and holds in each stage what the table holdings has.
func TestMessagesFollowTheTable(t *testing.T) {
	if len(followers) != len(everyStage()) || len(holdings) != len(everyStage()) {
		t.Fatalf("%d stages, %d lines of followers, %d of holdings", len(everyStage()), len(followers), len(holdings))
	}
	for _, from := range everyStage() {
		for _, to := range everyStage() {
			l, e := newTestLedger(t)
			m := l.at(t, e, from)
			if got, want := l.move(m, to), followers[from].has(to); got != want {
				t.Errorf("from %s to %s: moved %v, want %v", from, to, got, want)
				continue
			} else if !got {
				to = from
			}
			wantPlaces, wantRoom := 0, 0
			if holdings[to]&holdsPlace != 0 {
				wantPlaces = 1
			}
			if holdings[to]&holdsRoom != 0 {
				wantRoom = 1
			}
			if places := 16_384 - l.free(e); places != wantPlaces || e.waiting != wantRoom ||
				e.waitingB != wantRoom*len("body") {
				t.Errorf("%s after %s holds %d places, and room of %d messages with %d bytes", to, from, places,
					e.waiting, e.waitingB)
			}
			if unfinished := e.tracker.Unfinished(); unfinished == 1 == (to == finished) {
				t.Errorf("%s after %s: %d unfinished records", to, from, unfinished)
			}
		}
	}
}

// free is the number of places that a ledger has left. It admits records until there is none.
func (l *Ledger) free(e *Epoch) int {
	n := 0
	rs := make([]*kgo.Record, Window+1)
	for i := range rs {
		rs[i] = &kgo.Record{}
	}
	e.backlog.Bring(rs)
	l.Epochs.places.Share(l.Epochs.backlogs(), 1, func() int { return Window + 1 },
		func(*Epoch, *kgo.Record) bool { n++; l.Epochs.places.Occupy(&e.backlog); return true })
	return n
}

// The table in docs/architecture.md is the one in the code.
func TestTheTableIsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint8]string{holdsPlace: "place", holdsKey: "key", holdsRoom: "room"}
	for _, s := range everyStage() {
		var next, holds []string
		for _, to := range everyStage() {
			if followers[s].has(to) {
				next = append(next, to.String())
			}
		}
		for _, h := range []uint8{holdsPlace, holdsKey, holdsRoom} {
			if holdings[s]&h != 0 {
				holds = append(holds, names[h])
			}
		}
		row := fmt.Sprintf("| %s | %s | %s |", s, cmp.Or(strings.Join(holds, ", "), "–"),
			cmp.Or(strings.Join(next, ", "), "–"))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/architecture.md has no line %s", row)
		}
	}
}

// From every stage a message can reach an end, or it ends with its epoch.
func TestEveryStageHasAnEnd(t *testing.T) {
	ends := map[stage]bool{kept: true, finished: true}
	for range everyStage() {
		for _, from := range everyStage() {
			for _, to := range everyStage() {
				ends[from] = ends[from] || followers[from].has(to) && ends[to]
			}
		}
	}
	for _, s := range everyStage() {
		if !ends[s] {
			t.Errorf("no stage of an end can be reached from %s", s)
		}
	}
}

// A message of an epoch that has ended does not move, and late reports about it have no effect.
func TestNothingMovesAfterItsEpoch(t *testing.T) {
	l, e := newTestLedger(t)
	m := l.at(t, e, delivered)
	h := driver.Handle{Ref: m, Seq: m.Use}
	l.Epochs.Discard([]*Epoch{e})
	l.note(note{h, 3})
	l.note(note{handle: h})
	l.mu.Lock()
	l.read()
	l.mu.Unlock()
	if m.stage != delivered || l.claim(h, retrying) != nil {
		t.Errorf("the message is %s", m.stage)
	}
}
