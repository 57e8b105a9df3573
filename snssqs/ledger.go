package snssqs

import "sync"

// ledgerSize bounds the number of finished messages that a receiver remembers: several minutes of a busy one.
const ledgerSize = 10_000

// fingerprint identifies a message. The id alone is not enough: on a server whose ids repeat, new messages would be
// taken for finished ones, and deleted.
type fingerprint struct{ id, sent, md5 string }

func (m *message) fingerprint() fingerprint {
	return fingerprint{deref(m.MessageId), m.Attributes["SentTimestamp"], deref(m.MD5OfBody)}
}

// ledger remembers finished messages. A standard queue answers success to a delete with a superseded receipt handle,
// and deletes nothing; a FIFO queue refuses it. In both cases the message is delivered again, and is then deleted
// instead of being handled a second time.
type ledger struct {
	mu    sync.Mutex
	known map[fingerprint]bool // whether a dead letter or a forwarded message has its body
	order []fingerprint        // a ring, the oldest at next once it is full
	next  int
}

// note remembers a message, and whether a copy of it has its body. A message without an id cannot be told from
// others and is not remembered.
func (l *ledger) note(m *message, copied bool) {
	f := m.fingerprint()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[f]; known || f.id == "" {
		return
	}
	if l.known == nil {
		l.known = map[fingerprint]bool{}
	}
	l.known[f] = copied
	if len(l.order) < ledgerSize {
		l.order = append(l.order, f)
		return
	}
	delete(l.known, l.order[l.next])
	l.order[l.next] = f
	l.next = (l.next + 1) % ledgerSize
}

// has reports whether a message is known, and whether it was copied to the dead letters.
func (l *ledger) has(m *message) (known, copied bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied, known = l.known[m.fingerprint()]
	return known, copied
}
