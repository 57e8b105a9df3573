package demo

import "sync"

// ledger knows what became of each order. Safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	orders map[int]*entry // by number
	sum    counts         // always the sum over orders
}

// entry is one order's life. More than one thing can be true of it: at-least-once delivery may handle an order twice.
type entry struct {
	sent    bool
	handled int
	failed  int
	retried int
	dead    bool
}

// counts are the ledger's sums at one moment.
type counts struct {
	Sent    int // distinct orders that were accepted
	Handled int // distinct orders that were handled
	Twice   int // of those: handled more than once
	Retried int // attempts that failed and were given another
	Dead    int // distinct orders found among the dead letters
	Open    int // sent, and neither handled nor dead
}

func newLedger() *ledger { return &ledger{orders: map[int]*entry{}} }

func (l *ledger) sent(number int)    { l.note(number, func(e *entry) { e.sent = true }) }
func (l *ledger) handled(number int) { l.note(number, func(e *entry) { e.handled++ }) }
func (l *ledger) failed(number int)  { l.note(number, func(e *entry) { e.failed++ }) }
func (l *ledger) retried(number int) { l.note(number, func(e *entry) { e.retried++ }) }
func (l *ledger) dead(number int)    { l.note(number, func(e *entry) { e.dead = true }) }

// note changes one entry and keeps the sum right. An order may be handled before its sender has heard that it was accepted,
// so whoever comes first makes the entry.
func (l *ledger) note(number int, change func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.orders[number]
	if e == nil {
		e = &entry{}
		l.orders[number] = e
	}
	l.sum.add(e, -1)
	change(e)
	l.sum.add(e, 1)
}

// failures is how often the order has failed so far.
func (l *ledger) failures(number int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.orders[number]; e != nil {
		return e.failed
	}
	return 0
}

// openAmong counts the distinct orders among numbers that were sent and have come to no end.
func (l *ledger) openAmong(numbers []int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := map[int]bool{}
	for _, n := range numbers {
		if e := l.orders[n]; e != nil && e.isOpen() {
			open[n] = true
		}
	}
	return len(open)
}

func (l *ledger) counts() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

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
