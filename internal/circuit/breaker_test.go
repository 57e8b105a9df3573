package circuit_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/circuit"
)

func TestBreaker(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuit.New(2, backoff.Curve{First: time.Second, Max: 4 * time.Second})
	b.Result(false, now)
	if _, ok := b.Allow(now); !ok {
		t.Fatal("open after one failure, want two")
	}
	b.Result(false, now)
	if wait, ok := b.Allow(now); ok || wait != time.Second {
		t.Fatalf("after two failures: allowed %v, wait %v; want a second", ok, wait)
	}
	now = now.Add(time.Second)
	if _, ok := b.Allow(now); !ok {
		t.Fatal("no probe after the pause")
	}
	if _, ok := b.Allow(now); ok {
		t.Fatal("a second probe beside the first")
	}
	b.Result(false, now)
	if wait, _ := b.Allow(now); wait != 2*time.Second {
		t.Fatalf("after a failed probe the pause is %v, want 2s", wait)
	}
	now = now.Add(2 * time.Second)
	b.Allow(now)
	b.Result(true, now)
	for range 3 {
		if _, ok := b.Allow(now); !ok {
			t.Fatal("still open after a probe that succeeded")
		}
	}
}

// Calls that were running when it opened fail one by one: the pause is as long as after one failure, not after a
// hundred.
func TestACrowdThatFailsTogether(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuit.New(2, backoff.Curve{First: time.Second, Max: time.Hour})
	for range 100 {
		b.Result(false, now)
	}
	if wait, ok := b.Allow(now); ok || wait != time.Second {
		t.Errorf("after a hundred failures at once: allowed %v, wait %v; want a second", ok, wait)
	}
}

// A call that started before it opened and then succeeds closes it.
func TestALateSuccessCloses(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuit.New(1, backoff.Curve{First: time.Second, Max: time.Second})
	b.Result(false, now)
	b.Result(true, now)
	if _, ok := b.Allow(now); !ok {
		t.Error("still open after a success")
	}
}

// A probe without a Result does not keep it open.
func TestAProbeThatNeverEnds(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuit.New(1, backoff.Curve{First: time.Second, Max: time.Second})
	b.Result(false, now)
	for range 3 {
		now = now.Add(time.Second)
		if _, ok := b.Allow(now); !ok {
			t.Error("no probe after the pause")
		}
	}
}

// A call that will not be repeated waits only for the shortest pause since the last probe, not for the current pause.
func TestALastCall(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuit.New(1, backoff.Curve{First: time.Second, Max: time.Minute})
	if !b.AllowLast(now) {
		t.Error("refused while closed")
	}
	for range 4 { // the pause is eight seconds now
		b.Result(false, now)
		now = now.Add(8 * time.Second)
		b.Allow(now)
	}
	b.Result(false, now)
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{500 * time.Millisecond, false}, {time.Second, true}, {time.Second + 1, false}, {2 * time.Second, true}} {
		if got := b.AllowLast(now.Add(tc.after)); got != tc.want {
			t.Errorf("%v after the last probe: %v, want %v", tc.after, got, tc.want)
		}
	}
}
