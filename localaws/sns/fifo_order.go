package sns

import (
	"fmt"
	"sync"
	"time"
)

// fifoOrder orders a FIFO topic: it numbers messages, recognizes duplicates, and delivers one message after another to
// the queues. Its lock is held while a message is put into queues, which neither waits nor does I/O.
type fifoOrder struct {
	mu       sync.Mutex
	sequence uint64
	accepted map[string]*acceptance // by deduplication id within its scope
	oldest   []*acceptance          // in order of acceptance
	kept     keptOrder
}

// acceptance is the answer to a duplicate.
type acceptance struct {
	key      string
	id       string
	sequence string
	until    time.Time
}

const (
	deduplicationFor = 5 * time.Minute // SNS: how long a duplicate is recognized
	sequenceBase     = 10_000_000_000_000_000_000
)

// take gives the message its id and sequence number: new ones, or those of the message that it duplicates. The caller
// holds the lock.
func (l *fifoOrder) take(m *message, key string, now time.Time, newID func() string) (duplicate bool) {
	for len(l.oldest) > 0 && !l.oldest[0].until.After(now) {
		delete(l.accepted, l.oldest[0].key)
		if l.kept.store != nil {
			l.kept.drop(l.kept.key(l.oldest[0]))
		}
		l.oldest[0] = nil
		l.oldest = l.oldest[1:]
	}
	if first, ok := l.accepted[key]; ok {
		m.id, m.sequence = first.id, first.sequence
		return true
	}
	l.sequence++
	l.kept.number(l.sequence)
	m.id = newID()
	m.sequence = fmt.Sprintf("%020d", sequenceBase+l.sequence)
	l.restore(&acceptance{key: key, id: m.id, sequence: m.sequence, until: now.Add(deduplicationFor)})
	return false
}

// restore adds an acceptance that is newer than the others.
func (l *fifoOrder) restore(a *acceptance) {
	l.accepted[a.key] = a
	l.oldest = append(l.oldest, a)
}

// delivered keeps the newest acceptance. It is called after the deliveries: if they were lost in a crash, the message
// is accepted when it is sent again.
func (l *fifoOrder) delivered() { l.kept.accepted(l.oldest[len(l.oldest)-1]) }
