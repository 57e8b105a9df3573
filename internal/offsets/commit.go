package offsets

// Commit is the state that the group coordinator has to store.
type Commit struct {
	Offset   int64  // the first unfinished record, or where reading continues
	Epoch    int32  // leader epoch of the record before; -1: unknown
	Metadata string // completions beyond Offset, and the mark; "": the broker takes none

	now uint64
}

// Commit returns the current state, and whether it differs from what the broker has. Its metadata is the only
// allocation.
func (t *Tracker) Commit() (c Commit, changed bool) {
	if t.now == t.stored {
		return t.last, false
	}
	c = Commit{Offset: t.First(), Epoch: t.epoch, now: t.now}
	if c.Offset < t.watermark() {
		c.Epoch = -1
	}
	t.survey(c.Offset)
	said := said{pieces: t.pieces, blocks: t.allBlocks(), tries: t.tries, epoch: t.latest, mark: t.mark}
	c.Metadata = t.encoder.encode(said, c.Offset, t.identity, t.limit)
	t.length = len(c.Metadata)
	changed = c.Offset >= 0 && (c.Offset != t.last.Offset || c.Metadata != t.last.Metadata)
	if changed {
		t.send(c)
	}
	return c, changed
}

// sentMost is how many commits without an answer are remembered: while a broker is away, one every few seconds.
const sentMost = 16

func (t *Tracker) send(c Commit) {
	if len(t.sent) == sentMost {
		t.sent = append(t.sent[:0], t.sent[1:]...)
	}
	t.sent = append(t.sent, c)
}

// Committed records that the broker has stored c.
func (t *Tracker) Committed(c Commit) {
	t.last, t.stored, t.sent = c, c.now, t.sent[:0]
}

// Shorten halves the metadata's limit after the broker refused the latest Commit's metadata as too large. Completions
// are then dropped from the far end, and attempts before them. Admission respects the new limit. If the limit becomes
// very small, commits have no metadata.
func (t *Tracker) Shorten() {
	t.limit = min(t.limit, t.length) / 2
	if t.limit < minMetadata {
		t.limit = 0
	}
	t.now++
}

// First returns the first offset that is not finished; -1: nothing was read.
func (t *Tracker) First() int64 {
	first := t.watermark()
	for _, b := range t.blocks {
		first = min(first, b.first)
	}
	return first
}

// watermark returns the first offset that is not finished, apart from blocked records.
func (t *Tracker) watermark() int64 {
	if !t.ring.empty() {
		return t.ring.oldest().offset
	}
	return t.next
}

// survey collects the stretches beyond the watermark: those of the ring, then those that the metadata told of and that
// were not read again yet.
func (t *Tracker) survey(base int64) {
	t.pieces, t.tries = t.pieces[:0], t.tries[:0]
	t.extend(false, 1)              // the offset before base, so that the first stretch is always an unfinished one
	end := max(base, t.watermark()) // of the collected stretches; apart from blocked records, all is finished up to it
	t.extend(true, end-base)
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
		end = max(end, r.to+1)
	}
	t.tries = append(t.tries, t.told.hopes()...)
}

// extend appends a number of offsets to the pieces. Pieces at odd indexes are finished.
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
