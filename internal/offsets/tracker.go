package offsets

// Tracker follows one partition through one period of ownership. Its methods are not safe for concurrent use.
//
// A record costs the same however many are in flight, and no allocation once the ring has grown to its working size.
type Tracker struct {
	ring     ring
	identity string

	next       int64 // the log is read up to here; -1: nowhere yet
	before     int64 // the offset before the ring's oldest slot
	epoch      int32 // leader epoch of the last record that the watermark passed; -1: unknown
	latest     int32 // the latest leader epoch of a record that metadata may tell of; -1: unknown
	unfinished int
	prices     prices // of all stretches in the ring

	told told // by the metadata at the start, and not yet read again

	limit  int    // characters the metadata may have; 0: there is none
	length int    // characters of the latest Commit's metadata
	now    uint64 // counts changes that a Commit may have to tell
	stored uint64 // now, as of the latest Committed
	last   Commit // what the broker has

	// What a Commit is put together in.
	pieces  []int64
	tries   []try
	encoder encoder
}

// Admission says what is to be done with a record.
type Admission uint8

const (
	Run      Admission = iota // handle it, then Finish it
	Finished                  // it was finished in an earlier life: there is nothing to do
	Full                      // not now: try again after a Finish
)

// String is the admission's name, for errors and tests.
func (a Admission) String() string {
	names := [...]string{"run", "finished", "full"}
	if int(a) < len(names) {
		return names[a]
	}
	return "unknown admission"
}

// New returns a Tracker of at most so many records between the watermark and the newest, rounded up to a power of two.
// Memory is taken as it is needed: 16 bytes a place.
func New(places int) *Tracker {
	t := &Tracker{ring: newRing(places)}
	t.Start(-1, "")
	return t
}

// Bind mixes what log this is (topic id and partition, say) into the metadata's checksum: completions of a topic that was
// deleted and created again, or copied to another cluster, are then none. It is called before Start; without it the
// committed offset alone tells logs apart.
func (t *Tracker) Bind(identity string) { t.identity = identity }

// Start begins a period of ownership at what the group has committed. committed < 0: nothing; reading then begins where the
// first Admit or Skip says. Odd metadata counts as none. What an earlier period admitted is forgotten.
//
// The first record may lie beyond the committed offset (the log's start has moved: the gap counts as read) or before it
// (somebody turned the group back: see Truncate).
func (t *Tracker) Start(committed int64, metadata string) {
	committed = max(committed, -1)
	t.ring.forget()
	t.next, t.before, t.epoch = committed, committed-1, -1
	t.unfinished, t.prices = 0, prices{}
	t.told, t.latest = told{}, -1
	if committed >= 0 {
		t.told = decode(metadata, committed, t.identity)
		t.latest = t.told.epoch
	}
	t.limit, t.length = maxMetadata, 0
	t.now, t.stored = 0, 0
	t.last = Commit{Offset: committed, Epoch: -1, Metadata: metadata}
}

// Admit takes the next record of the log. With Run, seq names it until it is finished and attempt is how many of its starts
// are known from an earlier life. With Full nothing has changed. A record that could be the only one is never refused.
//
// An offset that was read before means that the log was cut there and written anew: see Truncate.
func (t *Tracker) Admit(offset int64, epoch int32) (seq uint64, attempt int32, a Admission) {
	if offset < t.next {
		t.Truncate(offset)
	}
	t.told.see(offset, epoch)
	switch finished := t.told.finished(offset); {
	case t.ring.empty() && finished:
		t.before, t.epoch = offset, epoch
		t.now++
		a = Finished
	case t.ring.full():
		return 0, 0, Full
	case finished:
		t.pushFinished(offset, epoch)
		a = Finished
	default:
		if !t.ring.empty() && !t.room(offset-t.ring.newest().offset) {
			return 0, 0, Full
		}
		attempt = t.told.attempt(offset)
		seq = t.push(offset, epoch, attempt)
	}
	t.next = offset + 1
	t.told.pass(t.next)
	return seq, attempt, a
}

// push appends an unfinished record.
func (t *Tracker) push(offset int64, epoch, attempt int32) uint64 {
	if t.ring.empty() {
		t.before = offset - 1
		t.now++ // the watermark may have moved over a gap
	}
	seq := t.ring.push(slot{offset: offset, epoch: epoch, state: attempt})
	t.prices.add(t.width(seq, seq))
	t.unfinished++
	return seq
}

// pushFinished appends a record of an earlier life behind unfinished ones.
func (t *Tracker) pushFinished(offset int64, epoch int32) {
	seq := t.ring.push(slot{offset: offset, epoch: epoch, state: -1})
	first := seq - t.ring.finishedBefore(seq)
	if first < seq {
		t.prices.sub(t.width(first, seq-1))
	}
	t.ring.tag(first, seq)
	t.prices.add(t.width(first, seq))
}

// Finish says that a record is done with: handled, or its copy stands elsewhere. A seq of an earlier period, of a log that was
// cut, or finished already is ignored.
func (t *Tracker) Finish(seq uint64) {
	if !t.ring.holds(seq) || t.ring.at(seq).finished() {
		return
	}
	left, right := t.ring.finishedBefore(seq), t.ring.finishedAfter(seq)
	first, last := seq-left, seq+right
	t.prices.sub(t.width(seq, seq))
	if left > 0 {
		t.prices.sub(t.width(first, seq-1))
	}
	if right > 0 {
		t.prices.sub(t.width(seq+1, last))
	}
	t.unfinished--
	t.latest = max(t.latest, t.ring.at(seq).epoch)
	t.now++
	if seq != t.ring.head {
		t.ring.at(seq).state = -1
		t.ring.tag(first, last)
		t.prices.add(t.width(first, last))
		return
	}
	end := t.ring.at(last)
	t.before, t.epoch = end.offset, end.epoch
	t.ring.head = last + 1
}

// Started notes that an unfinished record waits for another try after so many starts.
func (t *Tracker) Started(seq uint64, attempt int32) {
	if attempt <= 0 || !t.ring.holds(seq) || t.ring.at(seq).finished() {
		return
	}
	s := t.ring.at(seq)
	s.state, t.latest = attempt, max(t.latest, s.epoch)
	t.now++
}

// Skip says that the log moved on without a record (a marker, compaction, a lost start): the next one is at or after offset.
// An offset that was read before changes nothing.
func (t *Tracker) Skip(offset int64) {
	if offset <= t.next {
		return
	}
	t.next = offset
	t.told.pass(offset)
	t.now++
}

// Truncate says that the log was cut at an offset: what was read from there on is no longer the log's. It is forgotten, its
// Finish ignored, and the watermark goes back where it stood beyond. What will be written there is handled, whatever the
// completions said: a duplicate beats a loss.
func (t *Tracker) Truncate(offset int64) {
	t.told.cut(offset)
	t.now++
	if offset >= t.next {
		return // nothing of it is read yet
	}
	t.next = offset
	if t.ring.empty() || t.ring.oldest().offset >= offset {
		t.ring.forget()
		t.before, t.epoch = offset-1, -1
		t.unfinished, t.prices = 0, prices{}
		return
	}
	t.ring.cut(offset)
	t.recount()
}

// recount brings tags, prices and counts in line with the slots. It looks at each, so it is for what hardly ever happens.
func (t *Tracker) recount() {
	t.unfinished, t.prices = 0, prices{}
	for seq := t.ring.head; seq != t.ring.tail; seq++ {
		if !t.ring.at(seq).finished() {
			t.unfinished++
			t.prices.add(t.width(seq, seq))
			continue
		}
		first := seq
		for seq+1 != t.ring.tail && t.ring.at(seq+1).finished() {
			seq++
		}
		t.ring.tag(first, seq)
		t.prices.add(t.width(first, seq))
	}
}

// Unfinished is how many admitted records are not finished.
func (t *Tracker) Unfinished() int { return t.unfinished }

// width is how many offsets a stretch of slots stands for: its own, and the gaps before them, which hold no record.
func (t *Tracker) width(first, last uint64) int64 {
	before := t.before
	if first != t.ring.head {
		before = t.ring.at(first - 1).offset
	}
	return t.ring.at(last).offset - before
}
