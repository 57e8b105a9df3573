package parking

import (
	"testing"
	"time"
)

// Before a partition's tiers are read, no message of the partition is the first of its key. Afterwards the first ones
// are free.
func TestBarriers(t *testing.T) {
	l := &Lots[int64]{Away: true}
	minute, hour := Tier{"1m", 0}, Tier{"1h", 0}
	l.Raise(minute, 10, now)
	l.Raise(hour, 5, now)
	enter(t, l, visitor(7, Outside, true), 1, Hold)
	at := map[Tier]int64{minute: 10, hour: 4}
	read := func(t Tier) (int64, bool) { next, ok := at[t]; return next, ok }
	if free := l.Lift(now, read); len(free) > 0 || !l.Barred(0) || l.Barred(1) {
		t.Errorf("%v are free before a tier is read", free)
	}
	for name, ready := range map[string]func() time.Time{
		"read":            func() time.Time { at[hour] = 5; return now },
		"another's":       func() time.Time { delete(at, hour); return now },
		"out of patience": func() time.Time { at[hour] = 4; return now.Add(Patience) },
	} {
		l.Raise(hour, 5, now)
		answer, _ := l.Enter(k, visitor(7, Parked, true), now, 2)
		if answer != Hold {
			t.Fatalf("%s: the answer is %s before the barrier is lifted", name, answer)
		}
		if free := l.Lift(ready(), read); len(free) != 1 || free[0] != 7 || l.Barred(0) || l.Blocked() != 0 {
			t.Errorf("%s: %v are free, barred %v, %d blocked", name, free, l.Barred(0), l.Blocked())
		}
	}
}
