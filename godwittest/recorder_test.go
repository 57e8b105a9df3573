package godwittest_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a testing.TB that records failures instead of failing.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	logged   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return len(r.text()) > 0 }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged = append(r.logged, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.failures, "\n")
}

// record runs a test and returns its failures; "": there were none.
func record(t *testing.T, test func(r *recorder)) string {
	t.Helper()
	r := &recorder{TB: t}
	run := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	run(func() { test(r) })
	for _, f := range slices.Backward(r.cleanups) {
		run(f)
	}
	text := r.text()
	if text != "" {
		text += "\n" + strings.Join(r.logged, "\n")
	}
	return text
}

// says checks that a failure contains every part.
func says(t *testing.T, failure string, parts ...string) {
	t.Helper()
	if failure == "" {
		t.Errorf("the test did not fail; want a failure with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(failure, part) {
			t.Errorf("the failure does not contain %q:\n%s", part, failure)
		}
	}
}
