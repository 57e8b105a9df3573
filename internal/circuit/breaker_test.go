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
