package sns

import (
	"fmt"
	"sync"
	"time"
)

// line is the order of a FIFO topic: it numbers messages, knows duplicates, and lets one message after
// another into the queues. Its lock is held while a message is put into queues, which neither waits nor
// does I/O.
type line struct {
	mu       sync.Mutex
	sequence uint64
	accepted map[string]*acceptance // by deduplication id within its scope
	oldest   []*acceptance          // in the order they were accepted
}

// acceptance is what a duplicate is answered with.
type acceptance struct {
	key      string
	id       string
	sequence string
	until    time.Time
}

const (
	deduplicationFor = 5 * time.Minute // SNS: how long a duplicate is recognised
	sequenceBase     = 10_000_000_000_000_000_000
)

func newLine() *line {
	return &line{accepted: map[string]*acceptance{}}
}

// take gives the message its id and sequence number: new ones, or those of the message that it repeats. The
// caller holds the lock.
func (l *line) take(m *message, key string, now time.Time, newID func() string) (duplicate bool) {
	for len(l.oldest) > 0 && !l.oldest[0].until.After(now) {
		delete(l.accepted, l.oldest[0].key)
		l.oldest[0] = nil
		l.oldest = l.oldest[1:]
	}
	if first, ok := l.accepted[key]; ok {
		m.id, m.sequence = first.id, first.sequence
		return true
	}
	l.sequence++
	m.id = newID()
	m.sequence = fmt.Sprintf("%020d", sequenceBase+l.sequence)
	a := &acceptance{key: key, id: m.id, sequence: m.sequence, until: now.Add(deduplicationFor)}
	l.accepted[key] = a
	l.oldest = append(l.oldest, a)
	return false
}
