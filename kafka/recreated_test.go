//go:build synctests

package kafka_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// errorLines counts the lines of the log that are errors.
type errorLines struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func (s *errorLines) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (s *errorLines) Handle(_ context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r.Message)
	return nil
}

func (s *errorLines) ours() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.all {
		if len(text) < 5 || text[:5] != "kafka" {
			n++
		}
	}
	return n
}

// A topic is deleted and created again: the log reports it once, the client does not spin, the old state is dropped,
// and consumers and producers use the new topic within half a minute.
func TestTopicRecreated(t *testing.T) {
	inWorld(t, func(w *world) {
		loud := &errorLines{Handler: slog.DiscardHandler}
		var lost []*driver.Source
		l := w.begin(kafka.Options{Logger: slog.New(loud)}, driver.Events{Lost: func(s []*driver.Source,
			_ error,
		) {
			lost = append(lost, s...)
		}})
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			w.Fatal(err)
		}
		p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("sent")})
		if err != nil {
			w.Fatal(err)
		}
		if err := s.Send(w.Context(), []driver.Prepared{p}); err != nil {
			w.Fatal(err)
		}
		w.send(0, "a", "b", "c")
		old := l.get(4)
		l.settle(driver.Done, old[0], old[1])
		time.Sleep(2 * time.Second)
		w.drop("orders")
		if err := w.cluster.CreateTopic("orders", 1, nil); err != nil {
			w.Fatal(err)
		}
		fetches := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
		begun := time.Now()
		w.send(0, "new")
		w.same(l.get(1), "new")
		if took := time.Since(begun); took > 30*time.Second {
			w.Errorf("the new topic was in use after %v", took)
		}
		if n := fetches.Hits(); n > 200 {
			w.Errorf("%d fetches meanwhile: the client spins", n)
		}
		if len(lost) != 1 || lost[0] != old[0].Source {
			w.Errorf("lost %v, want the old topic's source", lost)
		}
		if n := loud.ours(); n != 1 {
			w.Errorf("the log reports it %d times, want once: %q", n, loud.all)
		}
		l.settle(driver.Done, old...) // deliveries of the old topic: no effect
		begun = time.Now()
		if err := s.Send(w.Context(), []driver.Prepared{p}); err != nil {
			w.Error(err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			w.Errorf("a producer found the new topic after %v", took)
		}
		w.same(l.get(1), "sent")
	})
}

// A missing topic is an error of class NotFound for consumers, which may then create it again.
func TestTopicDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a")
		l.settle(driver.Done, l.get(1)...)
		w.drop("orders")
		var err error
		for ends := time.Now().Add(30 * time.Second); err == nil && time.Now().Before(ends); {
			_, err = l.recv.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		}
		if driver.ClassOf(err) != driver.NotFound || err == nil {
			w.Fatalf("receive: %v, of class %s, want %s", err, driver.ClassOf(err), driver.NotFound)
		}
		if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
			w.Fatal(err)
		}
		w.send(0, "b")
		w.same(l.get(1), "b")
	})
}

// A committed offset that the log does not have, at either end, causes duplicates and never stops the partition.
func TestOffsetsOutOfRange(t *testing.T) {
	for name, at := range map[string]int64{"before the start": 1, "beyond the end": 1000} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(kafka.Options{}, driver.Events{})
				w.send(0, "a", "b", "c", "d")
				l.settle(driver.Done, l.get(4)...)
				l.end()
				w.commit(at, "")
				if err := w.cluster.DeleteRecords("orders", 0, 2); err != nil {
					w.Fatal(err)
				}
				l = w.begin(kafka.Options{}, driver.Events{})
				ds := l.get(2)
				w.same(ds, "c", "d")
				l.settle(driver.Done, ds...)
				time.Sleep(2 * time.Second)
				if at, _ := w.committed(0); at != 4 {
					w.Errorf("committed %d, want 4", at)
				}
				if l.errors > 3 {
					w.Errorf("%d receives failed", l.errors)
				}
			})
		})
	}
}
