package intake

import (
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// A partition that had its whole portion gets more places when a chunk of the portion is free: with single places,
	// each would cost a poll. A chunk is 1/portionChunk of the portion, and at most largestChunk.
	portionChunk = 8
	largestChunk = 256
)

// Intake shares places among partitions.
type Intake[E any] struct {
	places int
	taken  int // places of all partitions together
	enough int // while more places than this are taken, no partition gets one beyond its portion; -1: none needs one
	turn   []*Backlog[E]
	change Change[E]
}

// Change is the partitions that are to be paused and resumed.
type Change[E any] struct{ Pause, Resume []E }

// New returns an Intake with a number of places.
func New[E any](places int) *Intake[E] { return &Intake[E]{places: places, enough: -1} }

// Occupy counts a place for a record of a partition.
func (in *Intake[E]) Occupy(b *Backlog[E]) {
	b.taken++
	in.taken++
}

// Vacate returns the place of a record.
func (in *Intake[E]) Vacate(b *Backlog[E]) {
	b.taken--
	in.taken--
}

// Hold admits no record, whatever places become free, until the next Share.
func (in *Intake[E]) Hold(backlogs iter.Seq[*Backlog[E]]) Change[E] {
	in.change, in.enough = Change[E]{}, -1
	for b := range backlogs {
		b.enough = -1
		in.pause(b, !b.Empty())
	}
	return in.change
}

// Forget returns all places of a partition and drops its backlog.
func (in *Intake[E]) Forget(b *Backlog[E]) {
	in.taken -= b.taken
	b.taken = 0
	b.Drop()
}

// Share admits records of all backlogs in equal parts, at most as many as there is room for. count is the number of
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

// portion is how many places one partition may have: as many as are free, so that half of them stay free for others,
// but always its equal part. A partition with all places would keep only as many workers busy as it has keys, and the
// records of other partitions would wait unseen.
func (in *Intake[E]) portion(count int) int { return max(in.places-in.taken, in.places/max(count, 1)) }

// pause pauses a stuck partition with a large backlog, and resumes it when the backlog is empty.
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

// Freed reports whether a record may be admitted after a partition has returned a place.
func (in *Intake[E]) Freed(b *Backlog[E]) bool {
	return !b.Empty() && b.taken <= b.enough || in.taken <= in.enough
}

// Missing is how many places must be returned, at least, before a record may be admitted; 0: no record waits for a
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
