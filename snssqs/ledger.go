package snssqs

import "sync"

// ledgerSize bounds what a receiver remembers as finished: several minutes of a busy one.
const ledgerSize = 10_000

// fingerprint is what a message is known again by. Its id alone is not enough: a server whose ids repeat would have new
// messages taken for finished ones, and deleted.
type fingerprint struct{ id, sent, md5 string }

func (m *message) fingerprint() fingerprint {
	return fingerprint{deref(m.MessageId), m.Attributes["SentTimestamp"], deref(m.MD5OfBody)}
}

// ledger remembers the messages whose work is finished. A standard queue answers success to a delete with a handle that
// a later receive has superseded, and deletes nothing: the message comes again, and is deleted then instead of being
// handled a second time. The same goes for a FIFO queue, which refuses such a delete.
type ledger struct {
	mu    sync.Mutex
	known map[fingerprint]struct{}
	order []fingerprint // a ring, the oldest at next once it is full
	next  int
}

// note remembers a message; one without an id cannot be told from others, and is not remembered.
func (l *ledger) note(m *message) {
	f := m.fingerprint()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[f]; known || f.id == "" {
		return
	}
	if l.known == nil {
		l.known = map[fingerprint]struct{}{}
	}
	l.known[f] = struct{}{}
	if len(l.order) < ledgerSize {
		l.order = append(l.order, f)
		return
	}
	delete(l.known, l.order[l.next])
	l.order[l.next] = f
	l.next = (l.next + 1) % ledgerSize
}

func (l *ledger) has(m *message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.known[m.fingerprint()]
	return known
}
