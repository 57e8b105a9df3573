package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// counts is work that counts n messages.
func counts(n int64) Work {
	return func(context.Context, func(Progress)) (Progress, error) { return Progress{Count: n}, nil }
}

// slow is work that treats a message a second.
func slow(n int64) Work {
	return func(ctx context.Context, tell func(Progress)) (Progress, error) {
		p := Progress{Total: n}
		for ; p.Done < n; tell(p) {
			select {
			case <-time.After(time.Second):
				p.Done++
				p.Count++
			case <-ctx.Done():
				return p, ctx.Err()
			}
		}
		return p, nil
	}
}

func planOf(channel string, do Work) *Plan {
	return &Plan{Kind: "requeue", Channel: channel, What: "all", By: "ada", Changes: true, Count: counts(10), Do: do}
}

// newRegistry returns a registry in a bubble, which closes it.
func newRegistry(t *testing.T) *Registry {
	r := New(&Log{})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A run is planned, started by somebody else, and done; the log has it all.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		run := must[Run](t)(r.Plan(planOf("orders@dlq", slow(10))))
		if run.State != Planning || run.Rate(time.Now()) >= 0 {
			t.Errorf("%+v", run)
		}
		synctest.Wait()
		run = must[Run](t)(r.Find(run.ID))
		if run.State != Planned || run.Plan.Count != 10 {
			t.Errorf("%+v", run)
		}
		must[Run](t)(r.Start(run.ID, "grace"))
		time.Sleep(5500 * time.Millisecond)
		all, changed := r.All()
		if len(all) != 1 || all[0].State != Running || all[0].Progress.Done != 5 {
			t.Errorf("%+v", all)
		}
		if rate := all[0].Rate(time.Now()); rate < 0.9 || rate > 0.92 {
			t.Errorf("the rate is %v", rate)
		}
		<-changed
		time.Sleep(time.Minute)
		run = must[Run](t)(r.Find(run.ID))
		if run.State != Done || run.StartedBy != "grace" || run.Ended.Sub(run.Started) != 10*time.Second {
			t.Errorf("%+v", run)
		}
		var results []string
		for _, e := range r.log.Entries() {
			results = append(results, e.By+" "+e.Result+fmt.Sprint(e.Messages))
		}
		if got := strings.Join(results, ", "); got != "grace done10, grace started10" {
			t.Error(got)
		}
	})
}

// The second start of a plan, and the start of another run of the channel, are refused and say who was first.
func TestTwoPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		first := must[Run](t)(r.Plan(planOf("orders@dlq", slow(10))))
		second := must[Run](t)(r.Plan(planOf("orders@dlq", slow(10))))
		other := must[Run](t)(r.Plan(planOf("mails@dlq", slow(10))))
		synctest.Wait()
		must[Run](t)(r.Start(first.ID, "ada"))
		var state *StateError
		if _, err := r.Start(first.ID, "grace"); !errors.As(err, &state) || !strings.Contains(err.Error(), "by ada") {
			t.Error(err)
		}
		var busy *BusyError
		if _, err := r.Start(second.ID, "grace"); !errors.As(err, &busy) || busy.Other.ID != first.ID {
			t.Error(err)
		}
		must[Run](t)(r.Start(other.ID, "grace"))
		time.Sleep(time.Minute)
		must[Run](t)(r.Start(second.ID, "grace"))
	})
}

// A run that is canceled keeps what it has done. A plan can be canceled, too; what has ended cannot.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		run := must[Run](t)(r.Plan(planOf("orders@dlq", slow(100))))
		plan := must[Run](t)(r.Plan(planOf("orders@dlq", slow(1))))
		synctest.Wait()
		must[Run](t)(r.Start(run.ID, "ada"))
		time.Sleep(3500 * time.Millisecond)
		for range 2 {
			must[Run](t)(r.Cancel(run.ID, "grace"))
		}
		synctest.Wait()
		run = must[Run](t)(r.Find(run.ID))
		if run.State != Canceled || run.CanceledBy != "grace" || run.Progress.Count != 3 || run.Err != nil {
			t.Errorf("%+v", run)
		}
		must[Run](t)(r.Cancel(plan.ID, "ada"))
		if plan = must[Run](t)(r.Find(plan.ID)); plan.State != Canceled {
			t.Errorf("%+v", plan)
		}
		if _, err := r.Cancel(plan.ID, "ada"); !errors.As(err, new(*StateError)) {
			t.Error(err)
		}
		if _, err := r.Start(plan.ID, "ada"); !errors.As(err, new(*StateError)) {
			t.Error(err)
		}
		if _, err := r.Cancel("99", "ada"); !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
}

// A plan that failed, and one that is too old, cannot be started.
func TestPlansThatCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		p := planOf("orders@dlq", slow(1))
		old := must[Run](t)(r.Plan(p))
		p.Count = func(context.Context, func(Progress)) (Progress, error) { return Progress{}, errors.New("no way") }
		bad := must[Run](t)(r.Plan(p))
		time.Sleep(Lasts + time.Second)
		if _, err := r.Start(old.ID, "ada"); err == nil || !strings.Contains(err.Error(), "plan it again") {
			t.Error(err)
		}
		if _, err := r.Start(bad.ID, "ada"); err == nil || !strings.Contains(err.Error(), "failed") {
			t.Error(err)
		}
	})
}

// Close cancels runs and waits for them. The oldest runs are forgotten.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(&Log{})
		var last Run
		for range keeps + 10 {
			last = must[Run](t)(r.Plan(planOf("orders@dlq", slow(100))))
			synctest.Wait()
		}
		if all, _ := r.All(); len(all) != keeps {
			t.Errorf("%d runs", len(all))
		}
		must[Run](t)(r.Start(last.ID, "ada"))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if run := must[Run](t)(r.Find(last.ID)); run.State != Canceled {
			t.Errorf("%+v", run)
		}
		if _, err := r.Plan(planOf("x", slow(1))); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := r.Start(last.ID, "ada"); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// A log that cannot be written prevents the change.
func TestLogFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	l := must[*Log](t)(OpenLog(file))
	for range remembers + 2 {
		if err := l.Add(Entry{By: "ada", Action: "pause"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != remembers+2 || len(l.Entries()) != remembers {
		t.Errorf("%d lines, %d entries, %v", strings.Count(string(text), "\n"), len(l.Entries()), err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := New(l)
		run := must[Run](t)(r.Plan(planOf("orders@dlq", slow(1))))
		synctest.Wait()
		if _, err := r.Start(run.ID, "ada"); err == nil || !strings.Contains(err.Error(), "nothing is changed") {
			t.Error(err)
		}
		_ = r.Close(t.Context())
	})
	if _, err := OpenLog(filepath.Join(file, "x")); err == nil {
		t.Error("a log below a file is opened")
	}
}
