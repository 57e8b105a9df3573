//go:build synctests

package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

func (l *life) state(name string) *kafka.State {
	l.w.Helper()
	s, err := l.b.OpenState(name)
	if err != nil {
		l.w.Fatal(err)
	}
	return s
}

// Of programs that change a state at the same time, none overwrites the change of another. Old records are deleted,
// and the state's topic is no channel.
func TestStateIsConditional(t *testing.T) {
	inWorld(t, func(w *world) {
		const programs, changes = 4, 10
		var wg sync.WaitGroup
		var lives []*life
		for range programs {
			lives = append(lives, w.begin(kafka.Options{}, driver.Events{}))
		}
		for n, l := range lives {
			wg.Go(func() {
				s := l.state("alerts")
				for i := range changes {
					for {
						text, version, err := s.Load(w.Context())
						if err == nil {
							err = s.Store(w.Context(), fmt.Appendf(text, "%d.%d ", n, i), version)
						}
						if err == nil {
							break
						}
						if !errors.Is(err, driver.ErrConflict) {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		text, version, err := lives[0].state("alerts").Load(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := make([]int, programs)
		for word := range strings.FieldsSeq(string(text)) {
			var n, i int
			if _, err := fmt.Sscanf(word, "%d.%d", &n, &i); err != nil || next[n] != i {
				t.Fatalf("%s: %v in %s", word, next, text)
			}
			next[n]++
		}
		for n := range next {
			if next[n] != changes {
				t.Errorf("program %d has %d changes in %s", n, next[n], text)
			}
		}
		starts, err := w.admin.ListStartOffsets(w.Context(), "state--alerts")
		if start, _ := starts.Lookup("state--alerts", 0); err != nil || fmt.Sprint(start.Offset) >= version ||
			start.Offset == 0 {
			t.Errorf("the log starts at %d, and the version is %s: %v", start.Offset, version, err)
		}
		all, err := lives[0].b.Catalog(w.Context())
		if err != nil {
			t.Error(err)
		}
		for _, info := range all {
			if strings.Contains(info.Address, "state") {
				t.Errorf("%+v is a channel", info)
			}
		}
		for _, l := range lives {
			l.end()
		}
	})
}

// A state that nobody has written is empty; a change of another version, a text that is too large, and a topic of
// several partitions are errors. An answer that is lost is an error after which the state tells what happened.
func TestStateRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		s := l.state("sweep")
		if text, version, err := s.Load(w.Context()); err != nil || text != nil || version != "" {
			t.Errorf("%q, %q, %v", text, version, err)
		}
		if err := s.Store(w.Context(), []byte("one"), ""); err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"", "7", "one"} {
			if err := s.Store(w.Context(), []byte("two"), version); !errors.Is(err, driver.ErrConflict) {
				t.Errorf("version %q: %v", version, err)
			}
		}
		text, version, err := s.Load(w.Context())
		if err != nil || string(text) != "one" || version != "0" {
			t.Errorf("%q, %q, %v", text, version, err)
		}
		if err := s.Store(w.Context(), make([]byte, 9<<20), version); driver.ClassOf(err) != driver.TooLarge {
			t.Errorf("%v", err)
		}
		if err := s.Store(w.Context(), make([]byte, 7<<20), version); err != nil {
			t.Errorf("%v", err)
		}
		if text, _, err := s.Load(w.Context()); err != nil || len(text) != 7<<20 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		if _, err := w.admin.CreateTopic(w.Context(), 3, 1, nil, "state--wide"); err != nil {
			t.Fatal(err)
		}
		err = l.state("wide").Store(w.Context(), nil, "")
		if err == nil || !strings.Contains(err.Error(), "3 partitions") {
			t.Errorf("%v", err)
		}
		if _, err := l.b.OpenState("a--b"); err == nil || !strings.Contains(err.Error(), "no name of a state") {
			t.Errorf("%v", err)
		}
		l.end()
		if _, _, err := s.Load(w.Context()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

// Records of a program that has lost the race do not count, even if they are the last ones.
func TestStateIgnoresLosers(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		s := l.state("alerts")
		for i, version := range []string{"", "0", "1"} {
			if err := s.Store(w.Context(), fmt.Append(nil, i), version); err != nil {
				t.Fatal(err)
			}
		}
		loser := &kgo.Record{
			Topic: "state--alerts", Value: []byte("lost"),
			Headers: []kgo.RecordHeader{{Key: "godwit-base", Value: []byte("1")}},
		}
		if err := w.client.ProduceSync(w.Context(), loser).FirstErr(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if text, version, err := s.Load(w.Context()); err != nil || string(text) != "2" || version != "2 1" {
			t.Errorf("%q, %q, %v", text, version, err)
		}
		if err := s.Store(w.Context(), []byte("3"), "2 1"); err != nil {
			t.Error(err)
		}
		l.end()
	})
}
