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
	c = Commit{Offset: t.First(), Epoch: t.window.epoch, now: t.now}
	if c.Offset < t.watermark() {
		c.Epoch = -1
	}
	t.survey(c.Offset)
	c.Metadata = t.encoder.encode(t.said, c.Offset, t.identity, t.limit)
	t.length = len(c.Metadata)
	changed = c.Offset >= 0 && (c.Offset != t.last.Offset || c.Metadata != t.last.Metadata)
	if changed {
		if len(t.sent) == sentMost {
			t.sent = append(t.sent[:0], t.sent[1:]...)
		}
		t.sent = append(t.sent, c)
	}
	return c, changed
}

// sentMost is how many commits without an answer are remembered: while a broker is away, one every few seconds.
const sentMost = 16

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
	if !t.window.empty() {
		return t.window.oldest().offset
	}
	return t.next
}

// survey collects the content of a commit of the offset base: the stretches of the window, then those of the metadata
// at the start that were not read again yet, with the attempts and blocks of both.
func (t *Tracker) survey(base int64) {
	x := &t.said
	*x = said{pieces: x.pieces[:0], blocks: append(x.blocks[:0], t.blocks...), tries: x.tries[:0]}
	x.epoch, x.mark = t.latest, t.mark
	x.blocks = t.told.blocksFrom(t.next, x.blocks)
	x.extend(false, 1)              // the offset before base, so that the first stretch is always an unfinished one
	end := max(base, t.watermark()) // of the collected stretches; apart from blocked records, all is finished up to it
	x.extend(true, end-base)
	w := &t.window
	for seq := w.head; seq != w.tail; seq++ {
		s := w.at(seq)
		if s.finished() {
			seq += uint64(-s.state) - 1
			s = w.at(seq)
			x.extend(true, s.offset+1-end)
		} else {
			x.extend(false, s.offset+1-end)
			if s.state > 0 {
				x.tries = append(x.tries, try{offset: s.offset, attempt: s.state})
			}
		}
		end = s.offset + 1
	}
	for _, r := range t.told.rest() {
		from := max(r.from, end)
		x.extend(false, from-end)
		x.extend(true, r.to+1-from)
		end = max(end, r.to+1)
	}
	x.tries = append(x.tries, t.told.hopes()...)
}
