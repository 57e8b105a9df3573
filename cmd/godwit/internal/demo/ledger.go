package demo

import "sync"

// ledger knows what became of each wish on one branch. Safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	wishes map[int]*entry // by number
	last   map[string]int // the number handled last, by user
	sum    counts         // always the sum over wishes, and what was out of order
}

// entry is one wish's life. More than one thing can be true of it: at-least-once delivery may handle a wish twice.
type entry struct {
	sent    bool
	handled int
	failed  int
	retried int
	dead    bool
}

// counts are a ledger's sums at one moment.
type counts struct {
	Sent       int // distinct wishes that were accepted and are wanted here
	Handled    int // distinct wishes that were handled
	Twice      int // of those: handled more than once
	Retried    int // attempts that failed and were given another
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

// note changes one entry and keeps the sum right. A wish may be handled before its sender has heard that it was accepted,
// so whoever comes first makes the entry.
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

// failures is how often the wish has failed so far.
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

// ends are the distinct wishes that were sent, each with what became of it, worst last: of what is open, what still
// waits is left, and everything else is lost.
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

// end is what became of a wish that was sent. The worse ones are larger.
type end int

const (
	endHandled end = iota
	endDead
	endLeft
	endLost
	endings // how many there are
)

func (e *entry) isOpen() bool { return e.sent && e.handled == 0 && !e.dead }

// add adds an entry to the sum, or with sign -1 takes it out again.
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
