package demo

import (
	"errors"
	"testing"
)

// The seed alone determines fates. Over many wishes each fate is as frequent as intended, and two branches have
// different fates.
func TestFates(t *testing.T) {
	const wishes = 100_000
	const seed = 7
	seen, same := map[fate]int{}, 0
	for n := range wishes {
		f := fateOf(seed, 1, n)
		if again := fateOf(seed, 1, n); again != f {
			t.Fatalf("seed %d, wish %d: %d, then %d", seed, n, f, again)
		}
		seen[f]++
		if f == hopeless && fateOf(seed, 2, n) == hopeless {
			same++
		}
	}
	for f, percent := range map[fate]int{
		hopeless: hopelessPercent, 2: twicePercent, 1: oncePercent,
		0: 100 - hopelessPercent - twicePercent - oncePercent,
	} {
		want := wishes * percent / 100
		if got := seen[f]; got < want*9/10 || got > want*11/10 {
			t.Errorf("seed %d: fate %d came %d times of %d, want about %d", seed, f, got, wishes, want)
		}
	}
	if want := seen[hopeless] / 10; same > want {
		t.Errorf("seed %d: %d of %d hopeless wishes are hopeless on both branches, want at most %d", seed, same,
			seen[hopeless], want)
	}
}

func TestFateMeets(t *testing.T) {
	for _, c := range []struct {
		fate   fate
		failed int
		want   error
	}{
		{0, 0, nil},
		{1, 0, errBusy},
		{1, 1, nil},
		{2, 1, errBusy},
		{2, 2, nil},
		{hopeless, 0, errNoUser},
		{hopeless, 100, errNoUser},
	} {
		if got := c.fate.meet(c.failed); !errors.Is(got, c.want) {
			t.Errorf("fate %d after %d failures: %v, want %v", c.fate, c.failed, got, c.want)
		}
	}
}
