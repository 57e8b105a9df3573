package intake

import "github.com/twmb/franz-go/pkg/kgo"

const (
	// backlogMost is how many polled records of a partition that stands still may wait before it is paused. A pause
	// costs the fetches under way, so it is never for the ordinary back pressure, which is that nothing is polled.
	backlogMost = 16_384
	// backlogBytes bounds the same in bytes: large records had better wait on the broker.
	backlogBytes = 16 << 20
)

// Backlog is what was polled of one partition and is not admitted yet. Of is whose it is.
type Backlog[E any] struct {
	Of E

	records []*kgo.Record
	bytes   int
	taken   int // places
	enough  int // while more than these are taken, nothing is admitted
	paused  bool
}

// Bring puts polled records behind those that wait already.
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

// Drop forgets what waits.
func (b *Backlog[E]) Drop() { b.records, b.bytes = nil, 0 }

// Empty says that nothing waits.
func (b *Backlog[E]) Empty() bool { return len(b.records) == 0 }

// fits says whether the partition may have more places than it has.
func (b *Backlog[E]) fits(portion int) bool {
	b.enough = portion - min(portion/portionChunk, largestChunk)
	return b.taken <= b.enough
}

// overdue says that so much waits that the partition had better not be read.
func (b *Backlog[E]) overdue() bool { return len(b.records) >= backlogMost || b.bytes >= backlogBytes }

// admit lets at most so many records go, in order. more: the next one might go as well; stuck: admit refused it.
func (b *Backlog[E]) admit(most int, admit func(e E, r *kgo.Record) bool) (more, stuck bool) {
	n := 0
	for ; n < min(most, len(b.records)); n++ {
		size := len(b.records[n].Value)
		if stuck = !admit(b.Of, b.records[n]); stuck {
			break
		}
		b.bytes -= size
	}
	clear(b.records[:n]) // the memory of a finished record is freed before those behind it are admitted
	if b.records = b.records[n:]; len(b.records) == 0 {
		b.records = nil
	}
	return n == most && len(b.records) > 0, stuck
}
