package parking

import (
	"testing"
	"time"
)

var (
	k   = Key{Name: "k"}
	now = time.Unix(1_000, 0)
	far = func() int { return 100 }
)

// visitor is a message, named by its offset.
func visitor(offset int64, at Standing, copied bool) Visit[int64] {
	return Visit[int64]{M: offset, Offset: offset, Standing: at, Copy: copied}
}

func (a Answer) String() string { return [...]string{"go", "wait", "hold", "move", "drop"}[a] }

// enter calls Enter and checks the answer.
func enter(t *testing.T, l *Lots[int64], v Visit[int64], round uint64, want Answer) Standing {
	t.Helper()
	got, at := l.Enter(k, v, now, round)
	if got != want {
		t.Fatalf("the answer for message %d is %s, want %s", v.M, got, want)
	}
	return at
}

// resumed returns the messages that Resume routes.
func resumed(l *Lots[int64]) (ms []int64) {
	l.Resume(far, func(m int64) { ms = append(ms, m) })
	return ms
}

// Messages of one round are delivered together. Later ones wait until they are settled.
func TestLaterOnesWaitForTheCore(t *testing.T) {
	l := &Lots[int64]{Away: true}
	a := enter(t, l, visitor(1, Outside, false), 1, Go)
	b := enter(t, l, visitor(2, Outside, false), 1, Go)
	enter(t, l, visitor(3, Outside, false), 2, Wait)
	if l.Blocked() != 1 {
		t.Errorf("%d messages are blocked, want 1", l.Blocked())
	}
	if _, again := l.Return(k, a); again || len(resumed(l)) > 0 {
		t.Error("the next message is delivered although one of the round is not settled")
	}
	at, again := l.Return(k, b)
	if ms := resumed(l); at != Outside || !again || len(ms) != 1 || ms[0] != 3 || l.Blocked() != 0 {
		t.Errorf("after the settlement %v are resumed; standing %d, again %v, %d blocked", ms, at, again, l.Blocked())
	}
	if len(l.lots) != 0 {
		t.Error("an empty lot is kept")
	}
}

// With less room than messages wait, the rest is resumed later, in order.
func TestResumingStopsWithTheRound(t *testing.T) {
	l := &Lots[int64]{}
	at := enter(t, l, visitor(1, Outside, false), 1, Go)
	for m := int64(2); m < 5; m++ {
		enter(t, l, visitor(m, Outside, false), 2, Wait)
	}
	l.Return(k, at)
	room, got := 2, []int64(nil)
	l.Resume(func() int { return room }, func(m int64) { room--; got = append(got, m) })
	got = append(got, resumed(l)...)
	if len(got) != 3 || got[0] != 2 || got[2] != 4 {
		t.Errorf("resumed %v, want 2, 3, 4", got)
	}
}

// While a message waits in a tier, later ones of its key move behind it. They are delivered one by one, each after the
// one before it is finished.
func TestParkedOnesComeBackInOrder(t *testing.T) {
	l := &Lots[int64]{Away: true}
	due := now.Add(time.Minute)
	at := enter(t, l, visitor(1, Outside, false), 1, Go)
	if at = l.Reserve(k, 1, 1, due, at); at != Leaving {
		t.Errorf("the standing is %d, want leaving", at)
	}
	l.Return(k, at)
	at = enter(t, l, visitor(2, Outside, false), 2, Move)
	if l.Due(k, now) != due {
		t.Error("the message would be due before the one that it follows")
	}
	if at = l.Reserve(k, 2, 2, due, at); at != Parked {
		t.Errorf("the standing is %d, want parked", at)
	}
	two := enter(t, l, visitor(2, Outside, true), 3, Hold) // the copy of the second message is read first
	one := enter(t, l, visitor(1, Outside, true), 3, Go)
	if one != Parked || two != Parked || l.Blocked() != 1 {
		t.Errorf("the standings are %d and %d; %d blocked", one, two, l.Blocked())
	}
	enter(t, l, visitor(3, Outside, false), 3, Move)
	if next, ok, _ := l.Free(k, 1, 1); !ok || next != 2 || l.Blocked() != 0 {
		t.Errorf("next is %d, %v, %d blocked", next, ok, l.Blocked())
	}
	enter(t, l, visitor(2, Parked, true), 4, Go)
	l.Free(k, 2, 2)
	enter(t, l, visitor(4, Outside, false), 5, Go)
}

// A copy may be read before the broker confirms it. Then only one of the two is handled.
func TestACopyOvertakesTheAnswer(t *testing.T) {
	l := &Lots[int64]{Away: true}
	at := enter(t, l, visitor(1, Outside, false), 1, Go)
	at = l.Reserve(k, 1, 1, now, at)
	const copied = 101
	v := Visit[int64]{M: copied, Offset: 1, Copy: true}
	enter(t, l, v, 2, Go)
	l.Reclaim(k, 1, 1) // the answer says that it was not written
	if _, ok, _ := l.Free(k, 1, 1); ok || l.lots[k].spots[0].m != copied {
		t.Error("the spot belongs to the copy")
	}
	l.Return(k, at)
	v.M = 102
	enter(t, l, v, 3, Drop) // a second copy
}

// A message that could not be moved keeps its spot, and is handled from its partition when it is the first.
func TestWhatCouldNotBeMoved(t *testing.T) {
	l := &Lots[int64]{Away: true}
	at := enter(t, l, visitor(1, Outside, false), 1, Go)
	l.Return(k, l.Reserve(k, 1, 1, now, at))
	at = l.Reserve(k, 2, 2, now, enter(t, l, visitor(2, Outside, false), 2, Move))
	l.Reclaim(k, 2, 2)
	at = enter(t, l, visitor(2, at, false), 3, Move) // 1 has not been delivered again
	l.Reclaim(k, 2, 2)
	enter(t, l, visitor(1, Outside, true), 4, Go)
	l.Free(k, 1, 1)
	enter(t, l, visitor(3, Outside, false), 5, Move)
	if at = enter(t, l, visitor(2, at, false), 5, Go); at != Parked {
		t.Errorf("the standing is %d", at)
	}
}

// A message that could not be moved does not overtake a delivered message of its key.
func TestWhatCouldNotBeMovedWaitsForTheCore(t *testing.T) {
	l := &Lots[int64]{Away: true}
	one := enter(t, l, visitor(1, Outside, false), 1, Go)
	two := enter(t, l, visitor(2, Outside, false), 1, Go)
	l.Return(k, l.Reserve(k, 1, 1, now, one))
	at := l.Reserve(k, 3, 3, now, enter(t, l, visitor(3, Outside, false), 2, Move))
	l.Reclaim(k, 3, 3)
	enter(t, l, visitor(1, Outside, true), 3, Go)
	l.Free(k, 1, 1)
	at = enter(t, l, visitor(3, at, false), 4, Move)
	l.Reclaim(k, 3, 3)
	l.Return(k, two)
	enter(t, l, visitor(3, at, false), 5, Go)
}

// If retries wait in this process, so do later messages of the key.
func TestParkedInThisProcess(t *testing.T) {
	l := &Lots[int64]{}
	at := enter(t, l, visitor(1, Outside, false), 1, Go)
	at, _ = l.Return(k, l.Reserve(k, 1, 1, now, at))
	two := enter(t, l, visitor(2, Outside, false), 2, Hold)
	enter(t, l, visitor(1, at, false), 3, Go)
	if next, ok, _ := l.Free(k, 1, 1); !ok || next != 2 {
		t.Errorf("next is %d, %v", next, ok)
	}
	enter(t, l, visitor(2, two, false), 4, Go)
}

// A partition of another member leaves no lots. A tier of another member leaves the spots of its messages.
func TestForgotten(t *testing.T) {
	l := &Lots[int64]{Away: true}
	enter(t, l, visitor(1, Outside, true), 1, Go)
	enter(t, l, visitor(2, Outside, true), 1, Hold)
	l.ForgetCopies(0, func(m int64) bool { return m == 2 })
	if l.Blocked() != 0 {
		t.Errorf("%d messages are blocked", l.Blocked())
	}
	if next, ok, _ := l.Free(k, 1, 1); ok {
		t.Errorf("%d is next, although it belongs to another member", next)
	}
	enter(t, l, visitor(3, Outside, false), 2, Move) // 2 is in a tier
	l.Forget(0)
	enter(t, l, visitor(3, Outside, false), 3, Go)
	enter(t, l, visitor(4, Outside, false), 4, Wait)
	l.Forget(0)
	if l.Blocked() != 0 || len(resumed(l)) > 0 {
		t.Errorf("%d messages are blocked", l.Blocked())
	}
	l.Free(k, 3, 3) // a late report of its end
	l.Return(k, InHand)
	l.Reclaim(k, 3, 3)
}
