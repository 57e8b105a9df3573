package demo

import "sync"

// ledger records what happened to each wish on one branch. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	wishes map[int]*entry // by number
	last   map[string]int // the number that was handled last, by user
	sum    counts         // always the sum over all wishes, plus those out of order
}

// entry is what happened to one wish. Several things may have happened: with at-least-once delivery a wish may be
// handled twice.
type entry struct {
	sent    bool
	handled int
	failed  int
	retried int
	dead    bool
}

// counts are the sums of a ledger.
type counts struct {
	Sent       int // distinct wishes that were accepted and that this branch wants
	Handled    int // distinct wishes that were handled
	Twice      int // of those: handled more than once
	Retried    int // attempts that failed and were retried
	Dead       int // distinct wishes found among the dead letters
	Open       int // sent, and neither handled nor dead
	OutOfOrder int // wishes handled after a later one of their user
}

func newLedger() *ledger { return &ledger{wishes: map[int]*entry{}, last: map[string]int{}} }

func (l *ledger) sent(number int)    { l.note(number, func(e *entry) { e.sent = true }) }
func (l *ledger) failed(number int)  { l.note(number, func(e *entry) { e.failed++ }) }
func (l *ledger) retried(number int) { l.note(number, func(e *entry) { e.retried++ }) }
func (l *ledger) dead(number int)    { l.note(number, func(e *entry) { e.dead = true }) }

func (l *ledger) handled(w wish) {
	l.note(w.Number, func(e *entry) {
		e.handled++
		if w.Number < l.last[w.User] {
			l.sum.OutOfOrder++
		}
		l.last[w.User] = w.Number
	})
}

// note changes one entry and updates the sum. A wish may be handled before its sender gets the answer that it was
// accepted, so either side may create the entry.
func (l *ledger) note(number int, change func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.wishes[number]
	if e == nil {
		e = &entry{}
		l.wishes[number] = e
	}
	l.sum.add(e, -1)
	change(e)
	l.sum.add(e, 1)
}

// failures returns how often the wish has failed so far.
func (l *ledger) failures(number int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.wishes[number]; e != nil {
		return e.failed
	}
	return 0
}

func (l *ledger) counts() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// ends returns the distinct wishes that were sent, each with its end. Of the open wishes, those that still wait are
// left, and the others are lost.
func (l *ledger) ends(waiting map[int]bool) map[int]end {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := map[int]end{}
	for number, e := range l.wishes {
		switch {
		case !e.sent:
		case !e.isOpen() && e.handled > 0:
			ends[number] = endHandled
		case !e.isOpen():
			ends[number] = endDead
		case waiting[number]:
			ends[number] = endLeft
		default:
			ends[number] = endLost
		}
	}
	return ends
}

// end is what finally happened to a wish that was sent. A larger one is worse.
type end int

const (
	endHandled end = iota
	endDead
	endLeft
	endLost
	endings // their number
)

func (e *entry) isOpen() bool { return e.sent && e.handled == 0 && !e.dead }

// add adds an entry to the sum; with sign -1 it subtracts it.
func (c *counts) add(e *entry, sign int) {
	for _, one := range []struct {
		n  *int
		is bool
	}{
		{&c.Sent, e.sent},
		{&c.Handled, e.handled > 0},
		{&c.Twice, e.handled > 1},
		{&c.Dead, e.dead},
		{&c.Open, e.isOpen()},
	} {
		if one.is {
			*one.n += sign
		}
	}
	c.Retried += sign * e.retried
}
