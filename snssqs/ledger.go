package snssqs

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// ledgerSize bounds the number of finished messages that a receiver remembers: several minutes of a busy one.
const ledgerSize = 10_000

// fingerprint identifies a message. The id alone is not enough: on a server whose ids repeat, new messages would be
// taken for finished ones, and deleted.
type fingerprint struct{ id, sent, md5 string }

func fingerprintOf(m *wire.Message) fingerprint {
	return fingerprint{aws.ToString(m.MessageId), m.Attributes["SentTimestamp"], aws.ToString(m.MD5OfBody)}
}

// ledger remembers finished messages. A standard queue answers success to a delete with a superseded receipt handle,
// and deletes nothing; a FIFO queue refuses it. In both cases the message is delivered again, and is then deleted
// instead of being handled a second time.
type ledger struct {
	mu    sync.Mutex
	known map[fingerprint]bool // whether a dead letter or a forwarded message has its body
	order []finishedMessage    // a ring, the oldest at next once it is full
	next  int
	// bodies are the pointers of handled messages. A send whose answer was lost is repeated, and makes a second message
	// with another id and the same pointer.
	bodies map[driver.Location]struct{}
}

// finishedMessage is an entry of the ring.
type finishedMessage struct {
	fingerprint
	body driver.Location // zero: the message had its body, or its body has another reader
}

// note remembers a message, and whether a copy of it has its body. A message without an id cannot be told from
// others and is not remembered.
func (l *ledger) note(m *wire.Message, copied bool) {
	f := fingerprintOf(m)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[f]; known || f.id == "" {
		return
	}
	if l.known == nil {
		l.known, l.bodies = map[fingerprint]bool{}, map[driver.Location]struct{}{}
	}
	one := finishedMessage{fingerprint: f}
	if m.Pointer != nil && m.Pointer.Ours() && !copied { // another program may send one body several times
		one.body = m.Pointer.At
		l.bodies[one.body] = struct{}{}
	}
	l.known[f] = copied
	if len(l.order) < ledgerSize {
		l.order = append(l.order, one)
		return
	}
	old := l.order[l.next]
	delete(l.known, old.fingerprint)
	delete(l.bodies, old.body)
	l.order[l.next] = one
	l.next = (l.next + 1) % ledgerSize
}

// has reports whether a message is known, or another one with the same body, and whether it was copied to the dead
// letters.
func (l *ledger) has(m *wire.Message) (known, copied bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if copied, known = l.known[fingerprintOf(m)]; !known && m.Pointer != nil {
		_, known = l.bodies[m.Pointer.At]
	}
	return known, copied
}

// handled reports whether a message with this body was handled.
func (l *ledger) handled(body driver.Location) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.bodies[body]
	return known
}

const (
	// dedupWindow is how long SQS and SNS remember a de-duplication id.
	dedupWindow = 5 * time.Minute
	// recentSize bounds the ids that a sender remembers, at 200 messages a second: about 3 MiB.
	recentSize = 1 << 16
)

// recent remembers the message ids that the service returned, as hashes. A service that de-duplicates answers a
// duplicate with the id of the first message. The zero value is usable.
type recent struct {
	mu   sync.Mutex
	seed maphash.Seed
	ids  map[uint64]struct{}
	line []recentID // oldest first
}

type recentID struct {
	hash uint64
	at   int64 // in nanoseconds
}

// again records an id, and reports whether it was recorded before within the window.
func (r *recent) again(id string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.seed, r.ids = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	for len(r.line) > 0 && (len(r.line) >= recentSize || now.UnixNano()-r.line[0].at > int64(dedupWindow)) {
		delete(r.ids, r.line[0].hash)
		r.line = r.line[1:]
	}
	hash := maphash.String(r.seed, id)
	if _, known := r.ids[hash]; known {
		return true
	}
	r.ids[hash] = struct{}{}
	r.line = append(r.line, recentID{hash, now.UnixNano()})
	return false
}
