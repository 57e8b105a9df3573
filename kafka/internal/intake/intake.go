package intake

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// A partition that had its portion gets more when a chunk of it is free: one place at a time would be a poll for
	// each. A chunk is one part in so many, and no more than largestChunk.
	portionChunk = 8
	largestChunk = 256
)

// Intake shares places among partitions.
type Intake[E any] struct {
	places int
	taken  int // of all partitions
	enough int // a partition has all that it may have while more than these are taken; -1: none has
	turn   []*Backlog[E]
	change Change[E]
}

// Change says which partitions are to be fetched no more, or again.
type Change[E any] struct{ Pause, Resume []E }

// New shares so many places.
func New[E any](places int) *Intake[E] { return &Intake[E]{places: places, enough: -1} }

// Occupy gives a record of a partition a place.
func (in *Intake[E]) Occupy(b *Backlog[E]) {
	b.taken++
	in.taken++
}

// Vacate takes a place back.
func (in *Intake[E]) Vacate(b *Backlog[E]) {
	b.taken--
	in.taken--
}

// Forget takes all places of a partition back, and drops what waits.
func (in *Intake[E]) Forget(b *Backlog[E]) {
	in.taken -= b.taken
	b.taken = 0
	b.Drop()
}

// Share admits what waits, of all partitions alike: at most as many records as there is room for. There are count
// backlogs.
func (in *Intake[E]) Share(backlogs iter.Seq[*Backlog[E]], count int, room func() int,
	admit func(e E, r *kgo.Record) bool,
) Change[E] {
	in.change, in.enough = Change[E]{}, -1
	portion := in.portion(count)
	turn := in.turn[:0]
	for b := range backlogs {
		switch {
		case b.Empty():
		case b.fits(portion):
			turn = append(turn, b)
		default:
			in.enough = in.taken - in.taken/portionChunk
			in.pause(b, true)
		}
	}
	in.turn = turn
	for len(turn) > 0 && room() > 0 {
		each, rest := max(1, room()/len(turn)), turn[:0]
		for _, b := range turn {
			most := min(each, portion-b.taken, room())
			if most <= 0 {
				continue
			}
			more, stuck := b.admit(most, admit)
			in.pause(b, stuck && room() > 0)
			if more {
				rest = append(rest, b)
			}
		}
		turn = rest
	}
	clear(in.turn)
	return in.change
}

// portion is how many places one partition may have: as many as are free, so that what comes of another finds some, and
// its part of all in any case. A partition that had them all would keep no more workers busy than it has keys, and
// nobody would know of the others' records.
func (in *Intake[E]) portion(count int) int { return max(in.places-in.taken, in.places/max(count, 1)) }

// pause pauses a partition that stands still while much of it waits, and lets it go on when that is gone.
func (in *Intake[E]) pause(b *Backlog[E], stuck bool) {
	switch {
	case stuck && !b.paused && b.overdue():
		b.paused = true
		in.change.Pause = append(in.change.Pause, b.Of)
	case b.paused && b.Empty():
		b.paused = false
		in.change.Resume = append(in.change.Resume, b.Of)
	}
}

// Freed says whether something may be admitted now that a place of a partition is free.
func (in *Intake[E]) Freed(b *Backlog[E]) bool {
	return !b.Empty() && b.taken <= b.enough || in.taken <= in.enough
}

// Missing is how many places have to become free before anything might be admitted, at least; 0: nothing waits for a
// place.
func (in *Intake[E]) Missing(backlogs iter.Seq[*Backlog[E]]) (n int) {
	least := func(missing int) {
		if missing = max(1, missing); n == 0 || missing < n {
			n = missing
		}
	}
	for b := range backlogs {
		if !b.Empty() {
			least(b.taken - b.enough)
		}
	}
	if n > 0 && in.enough >= 0 {
		least(in.taken - in.enough)
	}
	return n
}
