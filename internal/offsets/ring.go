package offsets

import "math/bits"

// firstPlaces is the initial size of a ring; most partitions never need more.
const firstPlaces = 64

// slot is one record. It has 16 bytes, so that a million of them take 16 MiB.
type slot struct {
	offset int64
	epoch  int32
	// state is the number of attempts of an unfinished record (0: none known). It is negative for a finished record: at
	// both ends of a stretch of finished slots it is minus the stretch's length, and inside any negative number.
	state int32
}

func (s *slot) finished() bool { return s.state < 0 }

// ring stores slots by sequence number. It doubles its size up to its places.
type ring struct {
	slots      []slot
	mask       uint64
	places     uint64
	head, tail uint64 // the oldest slot and the next one to fill. Numbers are not reused; 0 is never a slot's number.
}

func newRing(places int) ring {
	// 2³⁰, because a stretch's length has to fit into a slot's state.
	n := uint64(1) << bits.Len(uint(min(max(places, 1), 1<<30)-1))
	return ring{places: n, head: 1, tail: 1}
}

func (r *ring) empty() bool         { return r.head == r.tail }
func (r *ring) full() bool          { return r.tail-r.head == r.places }
func (r *ring) at(seq uint64) *slot { return &r.slots[seq&r.mask] }
func (r *ring) oldest() *slot       { return r.at(r.head) }
func (r *ring) newest() *slot       { return r.at(r.tail - 1) }
func (r *ring) forget()             { r.head = r.tail }
func (r *ring) holds(s uint64) bool { return s-r.head < r.tail-r.head }

func (r *ring) push(s slot) (seq uint64) {
	if r.tail-r.head == uint64(len(r.slots)) {
		r.grow()
	}
	seq = r.tail
	*r.at(seq) = s
	r.tail++
	return seq
}

func (r *ring) grow() {
	n := min(max(firstPlaces, 2*uint64(len(r.slots))), r.places)
	old := *r
	r.slots, r.mask = make([]slot, n), n-1
	for seq := r.head; seq != r.tail; seq++ {
		*r.at(seq) = *old.at(seq)
	}
}

// finishedBefore returns the length of the finished stretch that ends just before seq; 0: none.
func (r *ring) finishedBefore(seq uint64) uint64 {
	if seq == r.head {
		return 0
	}
	return uint64(max(0, -int64(r.at(seq-1).state)))
}

// finishedAfter returns the length of the finished stretch that begins just after seq; 0: none.
func (r *ring) finishedAfter(seq uint64) uint64 {
	if seq+1 == r.tail {
		return 0
	}
	return uint64(max(0, -int64(r.at(seq+1).state)))
}

// tag marks a stretch as finished, at both of its ends.
func (r *ring) tag(first, last uint64) {
	length := int32(last-first) + 1
	r.at(first).state, r.at(last).state = -length, -length
}

// cut turns slots at and beyond offset into finished slots without a width, so that sequence numbers stay valid. The
// oldest slot is below offset.
func (r *ring) cut(offset int64) {
	keep := r.tail
	for r.at(keep-1).offset >= offset {
		keep--
	}
	end := *r.at(keep - 1)
	for seq := keep; seq != r.tail; seq++ {
		*r.at(seq) = slot{offset: end.offset, epoch: end.epoch, state: -1}
	}
}
