package demo

import (
	"errors"
	"testing"
)

// The seed alone decides, and over many orders each fate comes about as often as it should.
func TestFates(t *testing.T) {
	const orders = 100_000
	const seed = 7
	seen := map[fate]int{}
	for n := range orders {
		f := fateOf(seed, n)
		if again := fateOf(seed, n); again != f {
			t.Fatalf("seed %d, order %d: %d, then %d", seed, n, f, again)
		}
		seen[f]++
	}
	for f, percent := range map[fate]int{hopeless: hopelessPercent, 2: twicePercent, 1: oncePercent, 0: 100 - hopelessPercent - twicePercent - oncePercent} {
		want := orders * percent / 100
		if got := seen[f]; got < want*9/10 || got > want*11/10 {
			t.Errorf("seed %d: fate %d came %d times of %d, want about %d", seed, f, got, orders, want)
		}
	}
}

func TestFateMeets(t *testing.T) {
	for _, c := range []struct {
		fate   fate
		failed int
		want   error
	}{
		{0, 0, nil},
		{1, 0, errBusy}, {1, 1, nil},
		{2, 1, errBusy}, {2, 2, nil},
		{hopeless, 0, errNoCard}, {hopeless, 100, errNoCard},
	} {
		if got := c.fate.meet(c.failed); !errors.Is(got, c.want) {
			t.Errorf("fate %d after %d failures: %v, want %v", c.fate, c.failed, got, c.want)
		}
	}
}
