package kafka

const (
	// A partition that had its portion gets more when a chunk of it is free: one place at a time would be a poll for each. A
	// chunk is one part in so many, and no more than largestChunk.
	portionChunk = 8
	largestChunk = 256
)

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
