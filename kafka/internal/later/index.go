package later

import (
	"container/heap"
	"encoding/binary"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Index has the times of the messages that wait in one partition, the earliest first. Records are added and removed in
// the order of the log: of several with one id the last one counts, as it does for compaction.
type Index struct {
	times times
	// live is the offset of each message, by the first half of its id: entries of times that it does not confirm are
	// stale.
	live map[uint64]int64
}

// Waiting is a message that waits.
type Waiting struct {
	Due    int64 // in milliseconds since 1970
	Offset int64
	id     uint64
}

// NewIndex returns an empty index.
func NewIndex() *Index { return &Index{live: map[uint64]int64{}} }

// Len is the number of messages.
func (x *Index) Len() int { return len(x.live) }

// staleMost is how many stale entries are kept at least before they are removed.
const staleMost = 1024

// Add adds a message, or replaces it.
func (x *Index) Add(id wire.LaterID, due, offset int64) {
	w := Waiting{due, offset, short(id)}
	x.live[w.id] = offset
	heap.Push(&x.times, w)
	if len(x.times) <= 2*len(x.live)+staleMost {
		return
	}
	kept := x.times[:0]
	for _, w := range x.times {
		if x.Waits(w) {
			kept = append(kept, w)
		}
	}
	x.times = kept
	heap.Init(&x.times)
}

// Remove removes a message, if it is there.
func (x *Index) Remove(id wire.LaterID) { delete(x.live, short(id)) }

// Find finds a message, without its time.
func (x *Index) Find(id wire.LaterID) (w Waiting, ok bool) {
	at, ok := x.live[short(id)]
	return Waiting{Offset: at, id: short(id)}, ok
}

// Done removes a message that was taken.
func (x *Index) Done(w Waiting) {
	if x.Waits(w) {
		delete(x.live, w.id)
	}
}

// Waits reports whether a message that was taken is still to be sent.
func (x *Index) Waits(w Waiting) bool {
	at, ok := x.live[w.id]
	return ok && at == w.Offset
}

// Next is when the first message is due; false: none waits.
func (x *Index) Next() (due int64, ok bool) {
	x.trim()
	if len(x.times) == 0 {
		return 0, false
	}
	return x.times[0].Due, true
}

// Take takes the first message that is due at a time. It stays in the index until Done or Back is called.
func (x *Index) Take(now int64) (w Waiting, ok bool) {
	if due, any := x.Next(); !any || due > now {
		return w, false
	}
	return heap.Pop(&x.times).(Waiting), true
}

// Back returns a message that was taken and could not be sent. It is due again at its time, or at a later one.
func (x *Index) Back(w Waiting) {
	if x.Waits(w) {
		heap.Push(&x.times, w)
	}
}

// trim removes stale entries from the head.
func (x *Index) trim() {
	for len(x.times) > 0 && !x.Waits(x.times[0]) {
		heap.Pop(&x.times)
	}
}

// short is the half of an id by which the index finds it: ids are random.
func short(id wire.LaterID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// times is a heap of messages by time, and by offset at the same time.
type times []Waiting

func (t times) Len() int { return len(t) }

func (t times) Less(i, j int) bool {
	return t[i].Due < t[j].Due || t[i].Due == t[j].Due && t[i].Offset < t[j].Offset
}

func (t times) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *times) Push(w any)   { *t = append(*t, w.(Waiting)) }

func (t *times) Pop() any {
	last := len(*t) - 1
	w := (*t)[last]
	*t = (*t)[:last]
	return w
}
