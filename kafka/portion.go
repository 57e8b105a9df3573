package kafka

const (
	// A partition that had its portion gets more when a chunk of it is free: one place at a time would be a poll for each. A
	// chunk is one part in so many, and no more than largestChunk.
	portionChunk = 8
	largestChunk = 256
)

// takeAll admits what was polled, of all partitions alike.
func (in *intake) takeAll(m *member) {
	some := in.r.some[:0]
	in.r.enough = -1
	portion := in.r.portion(m)
	for _, e := range m.epochs {
		switch {
		case len(e.backlog) == 0:
		case e.fits(portion):
			some = append(some, e)
		default:
			in.r.enough = in.r.taken - in.r.taken/portionChunk
			in.hush(m, e, true)
		}
	}
	in.r.some = some
	for len(some) > 0 && in.room() > 0 {
		each, rest := max(1, in.room()/len(some)), some[:0]
		for _, e := range some {
			if most := min(each, portion-e.taken); most > 0 && in.take(m, e, most) {
				rest = append(rest, e)
			}
		}
		some = rest
	}
	clear(in.r.some)
}

// take admits at most so many records of one partition, in order, and says whether it might admit more.
func (in *intake) take(m *member, e *epoch, most int) (more bool) {
	n, stuck := 0, false
	for ; n < min(most, len(e.backlog)); n++ {
		size := len(e.backlog[n].Value)
		if stuck = !in.admit(e, e.backlog[n]); stuck {
			break
		}
		e.backlogB -= size
	}
	clear(e.backlog[:n]) // what is finished need not wait for the rest to be forgotten
	if e.backlog = e.backlog[n:]; len(e.backlog) == 0 {
		e.backlog = nil
	}
	in.hush(m, e, stuck && in.room() > 0)
	return n == most && len(e.backlog) > 0
}

// hush pauses a partition that stands still while much of it waits here, and lets it go on when that is gone.
func (in *intake) hush(m *member, e *epoch, stuck bool) {
	switch {
	case stuck && !e.paused && e.overdue():
		e.paused = true
		m.client.PauseFetchPartitions(map[string][]int32{e.Topic: {e.N}})
	case e.paused && len(e.backlog) == 0:
		e.paused = false
		m.client.ResumeFetchPartitions(map[string][]int32{e.Topic: {e.N}})
	}
}

// portion is how many of the core's places one partition may have: as many as are free, so that what comes of another finds
// some, and its part of all in any case. A partition that had them all would keep no more workers busy than it has keys, and
// nobody would know of the others' records. The caller holds r.mu.
func (r *receiver) portion(m *member) int {
	return max(r.places-r.taken, r.places/max(len(m.epochs), 1))
}

// fits says whether an epoch may have more places than it has.
func (e *epoch) fits(portion int) bool {
	e.enough = portion - min(portion/portionChunk, largestChunk)
	return e.taken <= e.enough
}

// occupy gives a message one of the core's places. The caller holds r.mu.
func (r *receiver) occupy(m *message) {
	m.taken = true
	m.epoch.taken++
	r.taken++
}

// vacate takes a message's place back, if it has one. The caller holds r.mu.
func (r *receiver) vacate(m *message) {
	if m.taken && !m.epoch.gone {
		m.taken = false
		m.epoch.taken--
		r.taken--
	}
}

// freed lets a poll that waits go on when something may be admitted instead, now that a record of an epoch is settled. The
// caller holds r.mu.
func (r *receiver) freed(e *epoch) {
	if len(e.backlog) > 0 && e.taken <= e.enough || r.taken <= r.enough {
		r.nudge()
	}
}
