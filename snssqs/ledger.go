package snssqs

import "sync"

// ledgerSize bounds what a receiver remembers as finished: several minutes of a busy one.
const ledgerSize = 10_000

// ledger remembers the ids of messages whose work is finished. A standard queue answers success to a delete with a
// handle that a later receive has superseded, and deletes nothing: the message comes again, and is deleted then instead
// of being handled a second time. The same goes for a FIFO queue, which refuses such a delete.
type ledger struct {
	mu    sync.Mutex
	ids   map[string]struct{}
	order []string // a ring, the oldest at next once it is full
	next  int
}

func (l *ledger) note(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.ids[id]; known {
		return
	}
	if l.ids == nil {
		l.ids = map[string]struct{}{}
	}
	l.ids[id] = struct{}{}
	if len(l.order) < ledgerSize {
		l.order = append(l.order, id)
		return
	}
	delete(l.ids, l.order[l.next])
	l.order[l.next] = id
	l.next = (l.next + 1) % ledgerSize
}

func (l *ledger) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.ids[id]
	return known
}
