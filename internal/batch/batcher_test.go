package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/batch"
)

// service is what batches are sent to. It records each batch and its time, and answers after its latency.
type service struct {
	latency time.Duration
	fail    func(batch []int) error // nil: everything succeeds

	mu    sync.Mutex
	begun time.Time
	sent  [][]int
	at    []time.Duration // when each batch came, since begun
	most  int             // most calls at the same time
	now   int
	ends  map[int][]error // the results of each entry
}

func newService(latency time.Duration) *service {
	return &service{latency: latency, begun: time.Now(), ends: map[int][]error{}}
}

func (s *service) send(ctx context.Context, b []int) error {
	s.mu.Lock()
	s.sent, s.at = append(s.sent, slices.Clone(b)), append(s.at, time.Since(s.begun))
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	select {
	case <-time.After(s.latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.fail != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.fail(b)
	}
	return nil
}

func (s *service) done(v int, err error) {
	s.mu.Lock()
	s.ends[v] = append(s.ends[v], err)
	s.mu.Unlock()
}

func (s *service) options() batch.Options[int] {
	return batch.Options[int]{
		Limit: 10, Linger: time.Millisecond, Longest: 5 * time.Millisecond, Send: s.send,
		Done: s.done,
	}
}

// was compares the batches that were sent with those wanted.
func (s *service) was(t *testing.T, want ...[]int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// once checks that each entry from 0 to n was answered exactly once.
func (s *service) once(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range n {
		if len(s.ends[v]) != 1 {
			t.Errorf("entry %d was answered %d times", v, len(s.ends[v]))
		}
	}
	if len(s.ends) != n {
		t.Errorf("%d entries were answered, want %d", len(s.ends), n)
	}
}

func upTo(n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = i
	}
	return vs
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestALoneEntryIsNotDelayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Millisecond)
		b := batch.New(s.options())
		for i := range 3 {
			b.Add(i)
			time.Sleep(time.Second)
		}
		b.Close(t.Context())
		want := []time.Duration{0, time.Second, 2 * time.Second}
		if diff := cmp.Diff(want, s.at); diff != "" {
			t.Errorf("sent at (-want +got):\n%s", diff)
		}
		s.once(t, 3)
	})
}

func TestFullBatchesGoAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Minute)
		o := s.options()
		o.AtOnce, o.Longest = 3, time.Hour
		b := batch.New(o)
		b.Add(upTo(25)...)
		synctest.Wait()
		slices.SortFunc(s.sent, func(x, y []int) int { return x[0] - y[0] }) // they were sent at the same time
		// The last five wait for more as long as a batch is in flight.
		s.was(t, upTo(25)[:10], upTo(25)[10:20])
		b.Close(t.Context())
		s.was(t, upTo(25)[:10], upTo(25)[10:20], upTo(25)[20:])
		s.once(t, 25)
	})
}

func TestAtOnceBoundsTheCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, most := range []int{0, 1, 4} {
			s := newService(time.Second)
			o := s.options()
			o.AtOnce = most
			b := batch.New(o)
			b.Add(upTo(100)...)
			b.Close(t.Context())
			if want := max(most, 1); s.most != want {
				t.Errorf("AtOnce %d: %d calls at once", most, s.most)
			}
			if took, want := time.Since(s.begun), 10*time.Second/time.Duration(max(most, 1)); took < want ||
				took > want+time.Second {
				t.Errorf("AtOnce %d: took %v, want about %v", most, took, want)
			}
			s.once(t, 100)
		}
	})
}

// Callers that were answered together add again at about the same time: the batch waits for as many entries as the last
// one had, for at most Linger.
func TestLingerWaitsForThoseWhoWereAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(10 * time.Millisecond)
		o := s.options()
		o.Linger, o.Longest = 4*time.Millisecond, time.Hour
		b := batch.New(o)
		b.Add(0, 1, 2)
		time.Sleep(11 * time.Millisecond) // answered at 10
		b.Add(3)
		time.Sleep(time.Millisecond)
		b.Add(4)
		time.Sleep(time.Millisecond)
		b.Add(5) // the third: the batch is sent now, at 13 ms
		time.Sleep(time.Second)
		b.Add(6) // long after the answer, so the entry waits for no others
		time.Sleep(time.Second)
		b.Close(t.Context())
		s.was(t, []int{0, 1, 2}, []int{3, 4, 5}, []int{6})
		want := []time.Duration{0, 13 * time.Millisecond, 1013 * time.Millisecond}
		if diff := cmp.Diff(want, s.at); diff != "" {
			t.Errorf("sent at (-want +got):\n%s", diff)
		}
	})
}

func TestLingerEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(10 * time.Millisecond)
		o := s.options()
		o.Linger, o.Longest = 4*time.Millisecond, time.Hour
		b := batch.New(o)
		b.Add(0, 1, 2)
		time.Sleep(11 * time.Millisecond)
		b.Add(3)
		time.Sleep(time.Second)
		b.Close(t.Context())
		if want := []time.Duration{0, 14 * time.Millisecond}; !slices.Equal(s.at, want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

func TestLongestBoundsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Minute)
		o := s.options()
		o.AtOnce, o.Longest = 2, 5*time.Second
		b := batch.New(o)
		b.Add(0)
		synctest.Wait()
		b.Add(1)
		time.Sleep(3 * time.Second)
		b.Add(2)
		time.Sleep(time.Hour)
		b.Close(t.Context())
		s.was(t, []int{0}, []int{1, 2})
		if want := []time.Duration{0, 5 * time.Second}; !slices.Equal(s.at, want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

// With Patience, a batch that is not full waits also if nothing is in flight. A full batch is sent at once, and so is
// what is queued when Close is called.
func TestPatienceWaitsForMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(0)
		o := s.options()
		var patience atomic.Int64
		patience.Store(int64(50 * time.Millisecond))
		o.Patience = func() time.Duration { return time.Duration(patience.Load()) }
		b := batch.New(o)
		for i := range 12 {
			b.Add(i)
			time.Sleep(4 * time.Millisecond)
		}
		time.Sleep(time.Second)
		patience.Store(0)
		b.Add(12)
		time.Sleep(time.Second)
		patience.Store(int64(time.Hour))
		b.Add(13)
		b.Close(t.Context())
		s.was(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{10, 11}, []int{12}, []int{13})
		want := []time.Duration{
			36 * time.Millisecond, 90 * time.Millisecond, 1048 * time.Millisecond,
			2048 * time.Millisecond,
		}
		if !slices.Equal(s.at, want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

// An urgent entry is sent at once, together with the waiting entries. The next batch waits again.
func TestUrgentEntriesDoNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(0)
		o := s.options()
		o.Patience = func() time.Duration { return 100 * time.Millisecond }
		o.Urgent = func(v int) bool { return v%5 == 2 }
		o.Again = func(int, error, int) time.Duration { return time.Second }
		s.fail = func(b []int) error {
			if b[0] == 7 && len(s.sent) == 3 {
				return errors.New("once")
			}
			return nil
		}
		b := batch.New(o)
		for i := range 4 {
			b.Add(i)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		b.Add(7)
		time.Sleep(time.Minute)
		b.Add(8)
		b.Close(t.Context())
		s.was(t, []int{0, 1, 2}, []int{3}, []int{7}, []int{7}, []int{8})
		want := []time.Duration{20 * time.Millisecond, 130 * time.Millisecond, 1040 * time.Millisecond}
		if !slices.Equal(s.at[:3], want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

// An entry does not wait for Patience if another one of its key waits behind it.
func TestNoPatienceWhileAnotherOfTheKeyWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(10 * time.Millisecond)
		o := s.options()
		o.Patience = func() time.Duration { return 100 * time.Millisecond }
		o.Key = func(v int) string { return fmt.Sprint(v % 2) }
		b := batch.New(o)
		b.Add(0, 1)
		time.Sleep(50 * time.Millisecond)
		b.Add(2)
		time.Sleep(time.Second)
		b.Close(t.Context())
		s.was(t, []int{0, 1}, []int{2})
		if want := []time.Duration{50 * time.Millisecond, 160 * time.Millisecond}; !slices.Equal(s.at, want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

func TestBytesAreNeverExceeded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Second)
		o := s.options()
		o.Bytes, o.Size = 100, func(v int) int { return v }
		b := batch.New(o)
		b.Add(60, 30, 10, 1, 250, 50, 50, 99, 2)
		b.Close(t.Context())
		s.was(t, []int{60, 30, 10}, []int{1}, []int{250}, []int{50, 50}, []int{99}, []int{2})
	})
}

func TestOneOfAKeyIsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Second)
		o := s.options()
		o.AtOnce, o.Key = 10, func(v int) string { return fmt.Sprint(v % 3) }
		b := batch.New(o)
		b.Add(upTo(7)...)
		b.Close(t.Context())
		s.was(t, []int{0, 1, 2}, []int{3, 4, 5}, []int{6})
		s.once(t, 7)
	})
}

// The entries after a failed one of the same key wait until it was repeated. Entries of other keys do not wait.
func TestFollowersWaitThroughRepetitions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Millisecond)
		passing := errors.New("try again")
		failures := 2
		s.fail = func(b []int) error {
			if i := slices.Index(b, 0); i >= 0 && failures > 0 {
				failures--
				return &driver.BatchError{Errs: map[int]error{i: passing}}
			}
			return nil
		}
		o := s.options()
		o.AtOnce, o.Key = 10, func(v int) string { return fmt.Sprint(v % 2) }
		o.Again = func(_ int, err error, try int) time.Duration {
			if err != passing {
				t.Errorf("asked to repeat after %v", err)
			}
			return time.Duration(try) * time.Second
		}
		b := batch.New(o)
		b.Add(0, 1, 2, 3, 5)
		b.Close(t.Context())
		s.was(t, []int{0, 1}, []int{3}, []int{5}, []int{0}, []int{0}, []int{2})
		if took := time.Since(s.begun); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("two repetitions after 1s and 2s took %v", took)
		}
		if len(s.ends) != 5 {
			t.Errorf("answered %v, want all five", s.ends)
		}
	})
}

func TestFollowersGoWhenTheErrorIsReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Millisecond)
		s.fail = func(b []int) error {
			if b[0] == 0 {
				return errors.New("no")
			}
			return nil
		}
		o := s.options()
		o.Key = func(int) string { return "" }
		o.Again = func(int, error, int) time.Duration { return -1 }
		b := batch.New(o)
		b.Add(0, 1)
		b.Close(t.Context())
		s.was(t, []int{0}, []int{1})
		if s.ends[0][0] == nil || s.ends[1][0] != nil {
			t.Errorf("answers %v", s.ends)
		}
		s.once(t, 2)
	})
}

func TestWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Millisecond)
		o := s.options()
		o.Key = func(v int) string { return fmt.Sprint(v / 10) }
		o.Take = func(v int) bool { return v%10 != 1 && v != 20 }
		b := batch.New(o)
		b.Add(10, 11, 12, 20, 21, 22)
		b.Close(t.Context())
		var sent []int
		for _, one := range s.sent {
			sent = append(sent, one...)
		}
		slices.Sort(sent)
		if want := []int{10, 12, 22}; !slices.Equal(sent, want) {
			t.Errorf("sent %v, want %v", sent, want)
		}
		if len(s.ends) != 3 {
			t.Errorf("answered %v, want answers for the three entries that were sent", s.ends)
		}
	})
}

func TestCloseSendsQueuedEntries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Second)
		o := s.options()
		o.Longest = time.Hour
		b := batch.New(o)
		b.Add(upTo(35)...)
		b.Close(t.Context())
		s.once(t, 35)
		for v, errs := range s.ends {
			if errs[0] != nil {
				t.Errorf("entry %d: %v", v, errs[0])
			}
		}
		if b.Add(99) {
			t.Error("accepted an entry after Close")
		}
		b.Close(t.Context()) // a second Close does nothing
		s.once(t, 35)
	})
}

// When its context ends, Close gives up. Entries that are queued, in flight, waiting for another one of their key, or
// between two tries are still answered once.
func TestCloseGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Hour)
		s.fail = func([]int) error { return nil }
		o := s.options()
		o.Limit = 2
		o.Key = func(v int) string { return fmt.Sprint(v % 5) }
		o.Again = func(int, error, int) time.Duration { return time.Hour }
		send := o.Send
		o.Send = func(ctx context.Context, b []int) error {
			if slices.Contains(b, 0) { // fails at once, and then waits to be repeated
				return errors.New("try again")
			}
			return send(ctx, b)
		}
		b := batch.New(o)
		b.Add(upTo(40)...)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		b.Close(ctx)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("Close took %v, want the 5s of its context", took)
		}
		s.once(t, 40)
		for v, errs := range s.ends {
			if errs[0] == nil {
				t.Errorf("entry %d was reported as sent", v)
			}
		}
	})
}

// A caller may hold a lock of its own during Add although every callback takes that lock, too. A deadlock blocks this
// test until its time limit.
func TestAddUnderALockThatTheCallbacksTake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Millisecond)
		lock := make(chan struct{}, 1)
		locked := func(f func()) {
			lock <- struct{}{}
			defer func() { <-lock }()
			f()
		}
		passing, called := errors.New("try again"), map[string]int{}
		note := func(name string) { locked(func() { called[name]++ }) }
		fail := map[int]bool{1: true, 4: true, 7: true}
		s.fail = func(b []int) error {
			errs := map[int]error{}
			for i, v := range b {
				if fail[v] {
					errs[i], fail[v] = passing, false
				}
			}
			if len(errs) > 0 {
				return &driver.BatchError{Errs: errs}
			}
			return nil
		}
		o := s.options()
		o.Limit, o.AtOnce = 3, 4
		o.Patience = func() time.Duration { note("Patience"); return 0 }
		o.Take = func(int) bool { note("Take"); return true }
		o.Send = func(ctx context.Context, b []int) error { note("Send"); return s.send(ctx, b) }
		o.Again = func(v int, _ error, _ int) time.Duration {
			note("Again")
			if v == 4 {
				return -1
			}
			return time.Millisecond
		}
		o.Done = func(v int, err error) { note("Done"); s.done(v, err) }
		o.Landed = func(vs []int) {
			note("Landed")
			for _, v := range vs {
				s.done(v, nil)
			}
		}
		b := batch.New(o)
		for i := range 30 {
			locked(func() {
				if !b.Add(i) {
					t.Error("refused before Close")
				}
				// Now the batcher does all that it can do by itself, while the caller holds its lock.
				synctest.Wait()
			})
			time.Sleep(time.Duration(i%3) * time.Millisecond)
		}
		b.Close(t.Context())
		s.once(t, 30)
		for _, name := range []string{"Patience", "Take", "Send", "Again", "Done", "Landed"} {
			if called[name] == 0 {
				t.Errorf("%s was never called: the test does not check it", name)
			}
		}
	})
}

// An adaptive batcher delays nothing if entries come far apart, even while another one is in flight.
func TestAdaptNeverDelaysWithoutCompany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(15 * time.Millisecond)
		o := s.options()
		o.AtOnce, o.Longest, o.Adapt = 10, 10*time.Millisecond, true
		b := batch.New(o)
		var want []time.Duration
		for i := range 50 {
			time.Sleep(9 * time.Millisecond) // less than a call's duration, and more than half of it
			want = append(want, time.Since(s.begun))
			b.Add(i)
		}
		b.Close(t.Context())
		if diff := cmp.Diff(want, s.at); diff != "" {
			t.Errorf("sent at (-want +got):\n%s", diff)
		}
		s.once(t, 50)
	})
}

// If entries come at short intervals, an adaptive batcher waits for half of a call's duration, and for no longer than
// Longest.
func TestAdaptWaitsForAPartOfACall(t *testing.T) {
	for _, c := range []struct{ call, longest, wait time.Duration }{
		{20 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond},
		{20 * time.Millisecond, 4 * time.Millisecond, 4 * time.Millisecond},
		{2 * time.Millisecond, 100 * time.Millisecond, time.Millisecond},
	} {
		bubble(t, func(t *testing.T) {
			s := newService(c.call)
			o := s.options()
			o.Limit, o.AtOnce, o.Linger, o.Longest, o.Adapt = 1000, 10, 0, c.longest, true
			b := batch.New(o)
			// No entry comes at the very time of an answer, after which it would count as one of a caller in a loop.
			step := c.wait/8 + 7*time.Microsecond
			n := 0
			for end := time.Now().Add(time.Second); time.Now().Before(end); n++ {
				b.Add(n)
				time.Sleep(step)
			}
			b.Close(t.Context())
			var gaps []time.Duration
			// The second half, when the batcher has adapted. Close sends the last batch early.
			for i := len(s.at) / 2; i < len(s.at)-1; i++ {
				if gap := s.at[i] - s.at[i-1]; gap < c.wait || gap > c.wait+step {
					gaps = append(gaps, gap)
				}
			}
			if len(gaps) > 0 || len(s.at) < 10 {
				t.Errorf("calls of %v, at most %v: of %d batches some left %v after the one before; want %v to %v", c.call,
					c.longest, len(s.at), gaps, c.wait, c.wait+step)
			}
			s.once(t, n)
		})
	}
}

// An idle batcher keeps few goroutines, however many calls it has made at the same time.
func TestIdleCarriersAreFew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Second)
		o := s.options()
		o.Limit, o.AtOnce = 1, 200
		before := runtime.NumGoroutine()
		b := batch.New(o)
		b.Add(upTo(200)...)
		time.Sleep(time.Minute)
		if n := runtime.NumGoroutine() - before; n > 20 {
			t.Errorf("%d goroutines for an idle batcher, want at most 20", n)
		}
		b.Close(t.Context()) // the bubble fails if a goroutine is left
		if s.most != 200 {
			t.Errorf("%d calls at the same time, want 200", s.most)
		}
	})
}

// With Together, entries of one key are sent in one batch, as many as fit, one batch after another. An entry with a
// temporary failure is repeated before the next batch of its key is sent. Entries that succeeded are not repeated.
func TestTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newService(time.Second)
		passing, fail := errors.New("try again"), map[int]bool{3: true, 5: true}
		s.fail = func(b []int) error {
			errs := map[int]error{}
			for i, v := range b {
				if fail[v] {
					errs[i], fail[v] = passing, false
				}
			}
			if len(errs) > 0 {
				return &driver.BatchError{Errs: errs}
			}
			return nil
		}
		o := s.options()
		o.AtOnce, o.Together, o.Key = 10, true, func(v int) string { return fmt.Sprint(v < 100) }
		o.Again = func(int, error, int) time.Duration { return time.Millisecond }
		o.Bytes, o.Size = 1000, func(v int) int {
			if v == 12 {
				return 999
			}
			return 1
		}
		b := batch.New(o)
		b.Add(upTo(25)...)
		synctest.Wait()
		b.Add(100, 101)
		b.Close(t.Context())
		s.was(t, upTo(10), []int{100, 101}, []int{3, 5}, []int{10, 11}, []int{12, 13},
			[]int{14, 15, 16, 17, 18, 19, 20, 21, 22, 23}, []int{24})
		s.ends[25], s.ends[26] = s.ends[100], s.ends[101]
		delete(s.ends, 100)
		delete(s.ends, 101)
		s.once(t, 27)
	})
}
