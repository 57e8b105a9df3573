package snssqs

import (
	"hash/maphash"
	"sync"
	"time"
)

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
