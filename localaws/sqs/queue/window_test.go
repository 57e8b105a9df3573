package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// shelf is a store in memory, and the starts of processes that use it.
type shelf struct {
	most   int64
	window *queue.Window // of the newest process
	starts uint32

	mu      sync.Mutex
	records map[string][]byte
	reads   int
	fault   error          // of reads
	reading func([]string) // called before a read; nil: nothing is
}

func newShelf(most int64) *shelf {
	return &shelf{most: most, records: map[string][]byte{}}
}

// journal returns the journal of a process that starts.
func (s *shelf) journal(t testing.TB, c *clock.Clock) *queue.Journal {
	s.starts++
	s.window = &queue.Window{Most: s.most}
	kept := &queue.Kept{Window: s.window}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range s.records {
		if err := kept.Add(key, value, c); err != nil {
			t.Fatal(err)
		}
	}
	return &queue.Journal{Store: s, Number: 7, Stamp: 8, Epoch: s.starts, Window: s.window, Kept: kept}
}

func (s *shelf) Write(changes ...keep.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		if s.records[c.Key] = c.Value; c.Value == nil {
			delete(s.records, c.Key)
		}
	}
}

func (s *shelf) Read(keys ...string) ([][]byte, error) {
	s.mu.Lock()
	reading, fault := s.reading, s.fault
	s.reads += len(keys)
	s.mu.Unlock()
	if reading != nil {
		reading(keys)
	}
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	values := make([][]byte, len(keys))
	for i, key := range keys {
		values[i] = s.records[key]
	}
	return values, nil
}

func (s *shelf) Load(record func(string, []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(s.records)) {
		if err := record(key, s.records[key]); err != nil {
			return err
		}
	}
	return nil
}

func (*shelf) Sync() error    { return nil }
func (*shelf) Damaged() bool  { return false }
func (*shelf) Failure() error { return nil }

// keptQueue returns a queue with a store whose window has room for a number of bytes.
func keptQueue(t *testing.T, most int64, alter ...func(*queue.Options)) (*queue.Queue, *shelf) {
	t.Helper()
	s := newShelf(most)
	c := clock.New()
	t.Cleanup(c.Close)
	return newQueue(t, append(alter, func(o *queue.Options) { o.Clock, o.Journal = c, s.journal(t, c) })...), s
}

// A message comes from the disk with everything that it was sent with, and the first messages of a backlog do not.
func TestMessagesBeyondTheWindowAreRead(t *testing.T) {
	q, s := keptQueue(t, 1000)
	var sent []*queue.Message
	for i := range 10 {
		m := &queue.Message{
			ID: fmt.Sprint("id", i), Body: fmt.Sprint("body", i), MD5: [16]byte{1}, Sender: "s",
			Given: &queue.Details{
				AttributesMD5: "a", Trace: "t", Group: "g",
				Attributes: map[string]queue.Attribute{"k": {Type: "Binary", Binary: []byte{0, 1}}},
			},
		}
		sent = append(sent, m)
		put(t, q, queue.Put{Message: m, Delay: queue.Default})
	}
	if used := s.window.Used(); used == 0 || used > 1000 {
		t.Errorf("%d bytes are used", used)
	}
	views := q.Messages()
	if len(views) != len(sent) || s.reads < 7 || s.reads > 9 {
		t.Errorf("%d views, %d reads", len(views), s.reads)
	}
	got := receive(t, q, 10)
	for i, m := range sent {
		if diff := cmp.Diff(m, views[i].Message) + cmp.Diff(m, got[i].Message); diff != "" {
			t.Error(diff)
		}
	}
	for _, g := range got {
		if err := q.DeleteMessage(g.Handle); err != nil {
			t.Error(err)
		}
	}
	if s.window.Used() != 0 || len(s.records) > 1 {
		t.Errorf("%d bytes are used, %d records are left", s.window.Used(), len(s.records))
	}
}

// A message that is deleted while a poll reads it from the disk is not received, and the poll waits for another one.
func TestAMessageIsDeletedWhileItIsRead(t *testing.T) {
	q, s := keptQueue(t, 0)
	put(t, q, message("gone", ""))
	s.reading = func([]string) {
		s.reading = nil
		q.Purge()
		put(t, q, message("next", ""))
	}
	got, err := q.Receive(t.Context(), queue.Receive{Max: 1, Visibility: queue.Default, Wait: time.Hour})
	if err != nil || len(got) != 1 || got[0].ID != "next" {
		t.Errorf("%v, %v", got, err)
	}
}

// Dead letters and moved messages that are on disk only go to their new queue; and stay where they are, in order, while
// the disk cannot be read.
func TestMovesOfMessagesOnDisk(t *testing.T) {
	for _, isFIFO := range []bool{false, true} {
		t.Run(fmt.Sprint("FIFO ", isFIFO), func(t *testing.T) {
			s := newShelf(0)
			c := clock.New()
			defer c.Close()
			dead := newQueue(t, func(o *queue.Options) {
				o.Clock, o.FIFO, o.Journal = c, isFIFO, s.journal(t, c)
				o.Journal.Number = 9
			})
			q := newQueue(t, func(o *queue.Options) {
				o.Clock, o.FIFO, o.Journal, o.Config.MaxReceives = c, isFIFO, s.journal(t, c), 1
				o.DeadLetters = func() *queue.Queue { return dead }
			})
			put(t, q, message("a", "g"), message("b", "g"), message("c", "g"))
			for _, g := range receive(t, q, 2) {
				if err := q.ChangeVisibility(g.Handle, 0); err != nil {
					t.Fatal(err)
				}
			}
			s.fault = errors.New("the disk is broken")
			if got, err := q.Receive(t.Context(), queue.Receive{Max: 1, Visibility: time.Hour}); err == nil {
				t.Errorf("%v is received from a broken disk", got)
			}
			if n := q.Stats().Total(); n != 3 {
				t.Errorf("%d messages are left, want 3", n)
			}
			s.fault = nil
			receive(t, q, 1)
			var moved []string
			for _, v := range dead.Messages() {
				moved = append(moved, v.Body)
			}
			if diff := cmp.Diff([]string{"a", "b"}, moved); diff != "" {
				t.Error(diff)
			}
			s.fault = errors.New("the disk is broken")
			if _, err := dead.TakeOut(2); err == nil {
				t.Error("messages are taken from a broken disk")
			}
			s.fault = nil
			taken, err := dead.TakeOut(2)
			if err != nil || len(taken) != 2 {
				t.Fatal(taken, err)
			}
			if err := q.PutMoved(taken[0]); err != nil {
				t.Error(err)
			}
			dead.PutBack(taken[1])
			if len(dead.Messages()) != 1 || dead.Messages()[0].Body != "b" {
				t.Errorf("left: %v", dead.Messages())
			}
			if views := q.Messages(); views[len(views)-1].Body != "a" {
				t.Errorf("moved: %v", views)
			}
		})
	}
}
