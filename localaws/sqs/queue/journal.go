package queue

import (
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
)

// Journal is where a queue keeps its messages, and what was kept of it.
type Journal struct {
	Store  keep.Store
	Number uint64 // of the queue; no other queue ever has it
	Stamp  uint64 // of the queue's handles
	Epoch  uint32 // number of the server's start
	Window *Window
	Kept   *Kept // nil: the queue is new
}

// The first byte of the key of a record. The queue's number follows.
const (
	recordMessage = 1 // a message as it entered the queue; by the item's key
	recordState   = 2 // the state of a message that was received; by the item's key
	recordKnown   = 3 // an entry of the deduplication table; by its key
	recordNext    = 4 // no item has had this key, or a larger one
)

// journal writes the records of one queue. A nil journal writes nothing. The queue's lock guards it.
type journal struct {
	*Journal
	clock    *clock.Clock
	changes  []keep.Change // since the last write
	reserved int64         // the content of recordNext
}

func newJournal(j *Journal, c *clock.Clock) *journal {
	if j == nil {
		return nil
	}
	return &journal{Journal: j, clock: c}
}

// epoch returns the number of the server's start; 0: nothing is kept.
func (j *journal) epoch() uint32 {
	if j == nil {
		return 0
	}
	return j.Epoch
}

// write writes the changes since the last one, all or none of them.
func (j *journal) write() {
	if j == nil || len(j.changes) == 0 {
		return
	}
	j.Store.Write(j.changes...)
	clear(j.changes)
	if j.changes = j.changes[:0]; cap(j.changes) > 4096 {
		j.changes = nil // of a purge
	}
}

func (j *journal) set(key string, value []byte) {
	j.changes = append(j.changes, keep.Change{Key: key, Value: value})
}

func (j *journal) unset(key string) { j.changes = append(j.changes, keep.Change{Key: key}) }

func (j *journal) key(kind byte, rest string) string {
	b := make([]byte, 0, 24+len(rest))
	b = append(b, kind)
	b = binary.BigEndian.AppendUint64(b, j.Number)
	return string(append(b, rest...))
}

func (j *journal) itemKey(kind byte, key int64) string {
	return j.key(kind, string(binary.AppendUvarint(nil, uint64(key))))
}

// reserve is how many keys are reserved at a time.
const reserve = 4096

// message keeps a message that has entered the queue.
func (j *journal) message(it *item) {
	if j == nil {
		return
	}
	if it.key >= j.reserved {
		j.reserved = it.key + reserve
		j.set(j.key(recordNext, ""), binary.AppendUvarint(nil, uint64(j.reserved)))
	}
	b := j.encodeState(make([]byte, 0, 200+len(it.message.Body)), it)
	j.set(j.itemKey(recordMessage, it.key), encodeMessage(b, it.message))
}

// state keeps the state of a message that was received at least once.
func (j *journal) state(it *item) {
	if j != nil {
		j.set(j.itemKey(recordState, it.key), j.encodeState(make([]byte, 0, 64+len(it.seen().source)), it))
	}
}

// dropped forgets a message.
func (j *journal) dropped(it *item) {
	if j == nil {
		return
	}
	j.unset(j.itemKey(recordMessage, it.key))
	if it.turn > 0 {
		j.unset(j.itemKey(recordState, it.key))
	}
}

// moved forgets a message of another queue, together with what this queue writes next.
func (j *journal) moved(from *journal, it *item) {
	if j == nil || from == nil {
		return
	}
	other := journal{Journal: from.Journal, changes: j.changes}
	other.dropped(it)
	j.changes = other.changes
}

// known keeps an entry of the deduplication table.
func (j *journal) known(a accepted) {
	if j == nil {
		return
	}
	b := binary.AppendVarint(nil, j.moment(a.at))
	b = appendText(b, a.message)
	j.set(j.knownKey(a.key), binary.AppendVarint(b, a.sequence))
}

// unknown forgets an entry of the deduplication table.
func (j *journal) unknown(k dedupKey) {
	if j != nil {
		j.unset(j.knownKey(k))
	}
}

// forgotten returns the function for the entries that are too old; nil: nobody wants to know.
func (j *journal) forgotten() func(dedupKey) {
	if j == nil {
		return nil
	}
	return j.unknown
}

// knownKey is unique: within the window, a second entry is a duplicate.
func (j *journal) knownKey(k dedupKey) string {
	return j.key(recordKnown, string(appendText(nil, k.group))+k.id)
}

// end forgets everything. The caller holds the queue's lock.
func (j *journal) end(q *Queue) {
	for it := range q.items.all {
		j.dropped(it)
		j.let(it)
		it.message = nil
	}
	for _, a := range q.dedup.entries[q.dedup.gone:] {
		j.unknown(a.key)
	}
	j.unset(j.key(recordNext, ""))
}

// moment returns a time as it is kept: in nanoseconds since 1970.
func (j *journal) moment(d time.Duration) int64 { return j.clock.At(d).UnixNano() }

// encodeState appends an item without its message.
func (j *journal) encodeState(b []byte, it *item) []byte {
	p := it.seen()
	b = append(b, byte(it.state))
	b = appendText(b, p.source)
	b = binary.AppendVarint(b, it.sequence())
	for _, at := range []time.Duration{it.due, it.sent, it.entered, p.first, p.latest} {
		b = binary.AppendVarint(b, j.moment(at))
	}
	b = binary.AppendVarint(b, int64(it.count))
	b = binary.AppendUvarint(b, uint64(it.turn))
	return binary.AppendUvarint(b, uint64(it.hiding))
}

func encodeMessage(b []byte, m *Message) []byte {
	d := m.Details()
	for _, text := range []string{
		m.ID, m.Body, hex.EncodeToString(m.MD5[:]), d.AttributesMD5, d.Trace, m.Sender, d.Group, d.Dedup,
	} {
		b = appendText(b, text)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Attributes)))
	for name, a := range d.Attributes {
		b = appendText(appendText(appendText(b, name), a.Type), a.Text)
		if a.Binary == nil {
			b = append(b, 0)
			continue
		}
		b = appendText(append(b, 1), string(a.Binary))
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
