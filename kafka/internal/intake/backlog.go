package intake

import "github.com/twmb/franz-go/pkg/kgo"

const (
	// backlogMost is how many polled records of a stuck partition may wait before the partition is paused. A pause
	// cancels fetches in flight, so ordinary backpressure does not pause: it does not poll.
	backlogMost = 16_384
	// backlogBytes is the same bound in bytes. Beyond it, large records wait on the broker, where they take no memory.
	backlogBytes = 16 << 20
)

// Backlog is the polled records of one partition that are not admitted yet. Of is the owner of the partition.
type Backlog[E any] struct {
	Of E

	records []*kgo.Record
	bytes   int
	taken   int // places that the partition has
	enough  int // while the partition has more places than this, none of its records is admitted
	paused  bool
}

// Bring adds polled records at the end.
func (b *Backlog[E]) Bring(rs []*kgo.Record) {
	for _, r := range rs {
		b.bytes += len(r.Value)
	}
	if len(b.records) == 0 {
		b.records = rs
		return
	}
	b.records = append(b.records, rs...)
}

// Drop removes all records.
func (b *Backlog[E]) Drop() { b.records, b.bytes = nil, 0 }

// Empty reports whether there are no records.
func (b *Backlog[E]) Empty() bool { return len(b.records) == 0 }

// fits reports whether the partition may get more places.
func (b *Backlog[E]) fits(portion int) bool {
	b.enough = portion - min(portion/portionChunk, largestChunk)
	return b.taken <= b.enough
}

// overdue reports whether the backlog is so long that the partition must be paused.
func (b *Backlog[E]) overdue() bool { return len(b.records) >= backlogMost || b.bytes >= backlogBytes }

// admit passes at most most records to the function, in order. more: the next record might be admitted as well; stuck:
// admit has refused a record.
func (b *Backlog[E]) admit(most int, admit func(e E, r *kgo.Record) bool) (more, stuck bool) {
	n := 0
	for ; n < min(most, len(b.records)); n++ {
		size := len(b.records[n].Value)
		if stuck = !admit(b.Of, b.records[n]); stuck {
			break
		}
		b.bytes -= size
	}
	clear(b.records[:n]) // so that the memory of a finished record is freed while later ones still wait
	if b.records = b.records[n:]; len(b.records) == 0 {
		b.records = nil
	}
	return n == most && len(b.records) > 0, stuck
}
