package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// batches returns a session that handles batches, each of which waits a second for more, and the ids that were handled.
func batches(t *testing.T, most int, failed map[int]error) (s *Session, service *fakeService, handled *string) {
	t.Helper()
	handled = new(string)
	s, service = bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{
		MaxBatch: most, Window: time.Second,
		HandleBatch: func(_ context.Context, its []*Item, _ []*Verdict) map[int]error {
			*handled += "(" + ids(its) + ")"
			return failed
		},
		Judge: func(*Item, error) Verdict { return Verdict{Action: ActionRetry, After: time.Minute} },
	})
	return s, service, handled
}

// ids are the ids of items; items of a lane follow each other.
func ids(its []*Item) string {
	var all strings.Builder
	for _, it := range its {
		all.WriteString(it.ID)
	}
	return all.String()
}

// arriveAll adds items to a session: in one lane those with a letter up to 'c', others without a lane. Heads can start.
func arriveAll(s *Session, letters string) (its []*Item) {
	for _, r := range letters {
		k := kind{}
		if r <= 'c' {
			k.lane = 'a'
		}
		it := k.came(s)
		it.ID, it.handle.Seq = string(r), uint64(r)
		if it.lanePrev == nil {
			s.flow.ready(it, true)
		}
		its = append(its, it)
	}
	return its
}

// handleBatch handles a batch that begins with the first item of the bus.
func handleBatch(s *Session) {
	first := s.flow.queue.head
	s.runner.workBatch(starts(s).worker, first)
}

// A batch has the items behind its first in their lane, then others that can start, up to its size. An undecodable one
// is rejected, and the others of its lane stay behind it.
func TestWhatABatchHas(t *testing.T) {
	for letters, want := range map[string]string{"abxyz": "(abxy)", "xabcyz": "(xabc)", "aBcx": "(ax)", "xYz": "(xz)"} {
		synctest.Test(t, func(t *testing.T) {
			s, service, handled := batches(t, 4, nil)
			for _, it := range arriveAll(s, strings.ToLower(letters)) {
				if strings.Contains(letters, strings.ToUpper(it.ID)) {
					it.Err = errors.New("undecodable")
				}
			}
			handleBatch(s)
			s.flow.settler.Close(t.Context())
			if *handled != want || service.of(driver.Done) != len(want)-2 {
				t.Errorf("%s: %s, and %d are done; want %s", letters, *handled, service.of(driver.Done), want)
			}
			if n := service.of(driver.Reject); n != strings.Count(letters, "Y") {
				t.Errorf("%s: %d are rejected", letters, n)
			}
		})
	}
}

// A batch that is not full waits for its window, and takes what can start meanwhile.
func TestABatchWaitsForItsWindow(t *testing.T) {
	for _, c := range []struct {
		most int
		want string
		took time.Duration
	}{{10, "(xyz)", time.Second}, {2, "(xy)", 500 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			s, _, handled := batches(t, c.most, nil)
			arriveAll(s, "x")
			begun := time.Now()
			time.AfterFunc(500*time.Millisecond, func() {
				s.flow.lock()
				arriveAll(s, "yz")
				s.flow.unlock()
			})
			handleBatch(s)
			if took := time.Since(begun); *handled != c.want || took != c.took {
				t.Errorf("%s after %v, want %s after %v", *handled, took, c.want, c.took)
			}
		})
	}
}

// What happens while a batch gathers: a pause releases it, and no handler sees it; a lost lease takes out its item and
// those behind it.
func TestWhileABatchGathers(t *testing.T) {
	for name, c := range map[string]struct {
		happens  func(f *flow, its []*Item)
		want     string
		released int
	}{
		"a pause":      {func(f *flow, _ []*Item) { f.gate.pause() }, "", 4},
		"a stop":       {func(_ *flow, its []*Item) { its[0].in.Stop(nil); its[0].in.flow.gate.park() }, "", 4},
		"a lost lease": {func(f *flow, its []*Item) { f.lose(its[1]) }, "(ax)", 1},
		"a lost head":  {func(f *flow, its []*Item) { f.lose(its[0]) }, "(x)", 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service, handled := batches(t, 10, nil)
			its := arriveAll(s, "abcx")
			time.AfterFunc(500*time.Millisecond, func() {
				s.flow.lock()
				c.happens(s.flow, its)
				s.flow.unlock()
			})
			handleBatch(s)
			s.flow.settler.Close(t.Context())
			if n := service.of(driver.Release); *handled != c.want || n != c.released || s.flow.running != 0 {
				t.Errorf("%s: handled %q, %d released, %d running; want %q and %d", name, *handled, n, s.flow.running,
					c.want, c.released)
			}
		})
	}
}

// If an item of a batch fails, those behind it in its lane start again after it, without an attempt. The others are
// done. If the handler ends its goroutine, all have failed.
func TestAFailureInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, service, _ := batches(t, 4, map[int]error{1: errors.New("failed")})
		its := arriveAll(s, "abcx")
		handleBatch(s)
		s.flow.settler.Close(t.Context())
		a, b, c, x := its[0], its[1], its[2], its[3]
		if a.state != gone || b.state != shelved || c.state != behind || x.state != gone ||
			service.of(driver.Done) != 2 {
			t.Errorf("the one before is %v, the failed one %v, the one behind %v, the other %v", a.state, b.state,
				c.state, x.state)
		}
		if b.Failures != 1 || c.Failures != 0 || c.stint != nil {
			t.Errorf("the failed one has %d failures, the one behind %d, and a stint %v", b.Failures, c.Failures,
				c.stint)
		}
	})
	if failed := allFailed(make([]*Item, 3)); len(failed) != 3 || !errors.Is(failed[2], ErrGoexit) {
		t.Errorf("after the end of the goroutine: %v", failed)
	}
}
