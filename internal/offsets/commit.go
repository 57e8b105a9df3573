package offsets

// Commit is what the group coordinator is to store.
type Commit struct {
	Offset   int64  // the first record that is not finished, or where reading goes on
	Epoch    int32  // leader epoch of the record before; -1: unknown
	Metadata string // completions beyond Offset; "": none

	now uint64
}

// Commit is what holds now, and whether the broker has something else. Its metadata is the only allocation.
func (t *Tracker) Commit() (c Commit, changed bool) {
	if t.now == t.stored {
		return t.last, false
	}
	c = Commit{Offset: t.watermark(), Epoch: t.epoch, now: t.now}
	t.survey(c.Offset)
	c.Metadata = t.encoder.encode(said{pieces: t.pieces, tries: t.tries, epoch: t.latest}, c.Offset, t.identity,
		t.limit)
	t.length = len(c.Metadata)
	return c, c.Offset >= 0 && (c.Offset != t.last.Offset || c.Metadata != t.last.Metadata)
}

// Committed says that the broker has stored c.
func (t *Tracker) Committed(c Commit) {
	t.last, t.stored = c, c.now
}

// Shorten halves the metadata after the broker refused the latest Commit's as too large: completions are then dropped from
// the far end, attempts before them. Admission keeps to the new limit. A broker that takes next to nothing gets none.
func (t *Tracker) Shorten() {
	t.limit = min(t.limit, t.length) / 2
	if t.limit < minMetadata {
		t.limit = 0
	}
	t.now++
}

// watermark is the first offset that is not finished.
func (t *Tracker) watermark() int64 {
	if !t.ring.empty() {
		return t.ring.oldest().offset
	}
	return t.next
}

// survey lays out what lies beyond the watermark: the ring, then what was told and not yet read again.
func (t *Tracker) survey(base int64) {
	t.pieces, t.tries = t.pieces[:0], t.tries[:0]
	t.extend(false, 1) // the offset before base, so that the first stretch is an unfinished one whatever follows
	end := base        // of what is laid out
	for seq := t.ring.head; seq != t.ring.tail; seq++ {
		s := t.ring.at(seq)
		if s.finished() {
			seq += uint64(-s.state) - 1
			s = t.ring.at(seq)
			t.extend(true, s.offset+1-end)
		} else {
			t.extend(false, s.offset+1-end)
			if s.state > 0 {
				t.tries = append(t.tries, try{offset: s.offset, attempt: s.state})
			}
		}
		end = s.offset + 1
	}
	for _, r := range t.told.rest() {
		from := max(r.from, end)
		t.extend(false, from-end)
		t.extend(true, r.to+1-from)
		end = r.to + 1
	}
	t.tries = append(t.tries, t.told.hopes()...)
}

// extend lays out so many more offsets. Pieces at odd places are finished ones.
func (t *Tracker) extend(finished bool, length int64) {
	if length <= 0 {
		return
	}
	n := len(t.pieces)
	if last := n%2 == 0; n > 0 && last == finished {
		t.pieces[n-1] += length
		return
	}
	t.pieces = append(t.pieces, length)
}
