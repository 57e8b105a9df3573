package kafka

import (
	"reflect"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// recordsKept is how many records, of batches that nothing needs any more, are kept for the next: about as many as
	// are handled, wait to be admitted, and are on their way here.
	recordsKept = 4 * window
	// recordsLeast is how many a batch has that is worth keeping.
	recordsLeast = 16
	// recordsTried is how many of the batches that are kept are looked at for one that is large enough.
	recordsTried = 4
)

// records keeps the memory of records, for the client to read the next batches into ([kgo.PoolRecords]). A record is
// 160 bytes full of pointers, and so costs the garbage collector more than what it says.
type records struct {
	mu   sync.Mutex
	idle [][]kgo.Record
	kept int // records in idle
}

// ours says that nobody but us sees the records of a client: no hook of the caller's, which may keep them, and no pool,
// since what is returned would take bodies along.
func ours(c *kgo.Client) bool {
	hooks := reflect.ValueOf(c.OptValue(kgo.WithHooks))
	for i := range hooks.Len() {
		switch hooks.Index(i).Interface().(type) {
		case kgo.HookFetchRecordBuffered, kgo.HookFetchRecordUnbuffered:
			return false
		}
	}
	return reflect.ValueOf(c.OptValue(kgo.WithPools)).Len() == 0
}

// GetRecords returns room for n records, or nothing.
func (rs *records) GetRecords(n int) []kgo.Record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	last := len(rs.idle) - 1
	for i := last; i >= max(0, last-recordsTried+1); i-- {
		if room := rs.idle[i]; cap(room) >= n {
			rs.idle[i], rs.idle[last] = rs.idle[last], nil
			rs.idle = rs.idle[:last]
			rs.kept -= cap(room)
			return room
		}
	}
	return nil
}

// PutRecords takes a batch back, of blank records.
func (rs *records) PutRecords(batch []kgo.Record) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if n := cap(batch); n >= recordsLeast && rs.kept+n <= recordsKept {
		rs.idle = append(rs.idle, batch)
		rs.kept += n
	}
}

// drop keeps nothing any more: there is nothing to do.
func (rs *records) drop() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.idle, rs.kept = nil, 0
}
