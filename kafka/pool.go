package kafka

import (
	"reflect"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/records"
)

const (
	// recordsKept is how many unused records are kept for later batches: about as many as are being handled, wait to be
	// admitted, and are being fetched.
	recordsKept = 4 * records.Window
	// recordsLeast is the smallest size of a batch that is kept.
	recordsLeast = 16
	// recordsTried is how many of the kept batches are checked for one that is large enough.
	recordsTried = 4
)

// recordPool keeps the memory of records, so that the client reads the next batches into it ([kgo.PoolRecords]). A
// record has 160 bytes full of pointers: collecting it as garbage costs more than its content.
type recordPool struct {
	mu   sync.Mutex
	idle [][]kgo.Record
	kept int // records in idle
}

// reusable reports whether only Godwit sees the records of a client. A hook of the caller may keep records. A pool of
// the caller takes their bodies, which users may keep.
func reusable(c *kgo.Client) bool {
	hooks := reflect.ValueOf(c.OptValue(kgo.WithHooks))
	for i := range hooks.Len() {
		switch hooks.Index(i).Interface().(type) {
		case kgo.HookFetchRecordBuffered, kgo.HookFetchRecordUnbuffered:
			return false
		}
	}
	return reflect.ValueOf(c.OptValue(kgo.WithPools)).Len() == 0
}

// GetRecords returns memory for n records, or nil.
func (rs *recordPool) GetRecords(n int) []kgo.Record {
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

// PutRecords keeps the memory of a batch of zero records.
func (rs *recordPool) PutRecords(batch []kgo.Record) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if n := cap(batch); n >= recordsLeast && rs.kept+n <= recordsKept {
		rs.idle = append(rs.idle, batch)
		rs.kept += n
	}
}

// drop releases the kept memory: it is called when the channel is idle.
func (rs *recordPool) drop() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.idle, rs.kept = nil, 0
}
