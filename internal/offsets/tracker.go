package offsets

import "slices"

// Tracker tracks one partition during one period of ownership. Its methods are not safe for concurrent use.
//
// The cost of a record does not depend on how many are in flight, and there is no allocation once the ring has grown to
// its working size.
type Tracker struct {
	ring     ring
	identity string

	next       int64 // the log is read up to this offset; -1: nothing was read
	before     int64 // the offset before the ring's oldest slot
	epoch      int32 // leader epoch of the last record before the watermark; -1: unknown
	latest     int32 // latest leader epoch of a record that the metadata may describe; -1: unknown
	unfinished int
	prices     prices // of all stretches in the ring

	told   told    // content of the metadata at the start that was not read again yet
	own    bool    // the commit at the start was made by a Tracker
	mark   int64   // see Mark; -1: none
	blocks []block // see Block

	limit  int      // maximum length of the metadata; 0: no metadata
	length int      // length of the latest Commit's metadata
	now    uint64   // counts changes that a Commit may contain
	stored uint64   // value of now at the latest Committed
	last   Commit   // what the broker has
	sent   []Commit // returned by Commit since: the broker may have one of these instead

	// Reusable memory for a Commit.
	pieces  []int64
	tries   []try
	both    []block
	encoder encoder
}

// Admission is the decision about a record.
type Admission uint8

const (
	Run      Admission = iota // handle the record, then call Finish
	Finished                  // the record was finished in an earlier period: there is nothing to do
	Full                      // there is no room now: try again after a Finish
)

// String returns the name of the admission, for errors and tests.
func (a Admission) String() string {
	names := [...]string{"run", "finished", "full"}
	if int(a) < len(names) {
		return names[a]
	}
	return "unknown admission"
}

// New returns a Tracker with at most a number of records between the watermark and the newest, rounded up to a power of
// two. It allocates memory as needed: 16 bytes per place.
func New(places int) *Tracker {
	t := &Tracker{ring: newRing(places)}
	t.Start(-1, "")
	return t
}

// Bind includes the log's identity (for example topic id and partition) in the metadata's checksum. The completions of
// a topic that was deleted and created again, or copied to another cluster, are then invalid. Bind is called before
// Start; without it only the committed offset distinguishes logs.
func (t *Tracker) Bind(identity string) { t.identity = identity }

// Start begins a period of ownership at the group's committed offset. committed < 0: there is none; reading then begins
// at the first Admit or Skip. Invalid metadata counts as none. Records of an earlier period are forgotten.
//
// The first record may lie beyond the committed offset (the start of the log has moved: the gap counts as read) or
// before it (the group was reset to an earlier offset: see Truncate).
func (t *Tracker) Start(committed int64, metadata string) {
	committed = max(committed, -1)
	t.ring.forget()
	t.next, t.before, t.epoch = committed, committed-1, -1
	t.unfinished, t.prices = 0, prices{}
	t.told, t.latest, t.own, t.mark = told{}, -1, false, -1
	t.blocks = t.blocks[:0]
	if committed >= 0 {
		t.told = decode(metadata, committed, t.identity)
		t.latest, t.own, t.mark = t.told.epoch, t.told.genuine, t.told.mark
	}
	t.limit, t.length = maxMetadata, 0
	t.now, t.stored = 0, 0
	t.last, t.sent = Commit{Offset: committed, Epoch: -1, Metadata: metadata}, t.sent[:0]
}

// Own reports whether the commit at the start was made by a Tracker for this log. If not, somebody has set the group to
// another offset, and the records from there on are to be handled whatever became of them before.
func (t *Tracker) Own() bool { return t.own }

// Mark stores a number of the caller's, at least 0, in each commit from now on.
func (t *Tracker) Mark(mark int64) {
	t.mark = mark
	t.now++
}

// Marked returns the number that the latest Mark, or the commit at the start, had; -1: none.
func (t *Tracker) Marked() int64 { return t.mark }

// Admit adds the next record of the log, with its key; nil: it has none. With Run, seq identifies it until it is
// finished, and attempt is the number of its attempts in earlier periods, as far as known. With Full nothing has
// changed. A record is always admitted if there is no other one.
//
// An offset that was read before means that the log was truncated there and written again: see Truncate.
func (t *Tracker) Admit(offset int64, epoch int32, key []byte) (seq uint64, attempt int32, a Admission) {
	if offset < t.next {
		t.Truncate(offset)
	}
	t.told.see(offset, epoch)
	waits, isBlocked := t.told.blocked(offset, key)
	switch finished := t.told.finished(offset) && !isBlocked; {
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
		if isBlocked && waits.first == offset {
			attempt = waits.attempt
		}
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

// pushFinished appends a record that was finished in an earlier period, behind unfinished ones.
func (t *Tracker) pushFinished(offset int64, epoch int32) {
	seq := t.ring.push(slot{offset: offset, epoch: epoch, state: -1})
	first := seq - t.ring.finishedBefore(seq)
	if first < seq {
		t.prices.sub(t.width(first, seq-1))
	}
	t.ring.tag(first, seq)
	t.prices.add(t.width(first, seq))
}

// Finish marks a record as finished: it was handled, or copied to another topic. A seq of an earlier period, of a
// truncated part of the log, or of a finished record is ignored.
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

// Started records the number of attempts of an unfinished record that waits for the next attempt.
func (t *Tracker) Started(seq uint64, attempt int32) {
	if attempt <= 0 || !t.ring.holds(seq) || t.ring.at(seq).finished() {
		return
	}
	s := t.ring.at(seq)
	s.state, t.latest = attempt, max(t.latest, s.epoch)
	t.now++
}

// Skip says that an offset has no record (a control record, compaction, a moved start of the log): the next record is
// at or after offset. An offset that was read before changes nothing.
func (t *Tracker) Skip(offset int64) {
	if offset <= t.next {
		return
	}
	t.next = offset
	t.told.pass(offset)
	t.now++
}

// Truncate says that the log was truncated at an offset. The records from there on are forgotten and their Finish is
// ignored; the watermark moves back if it was beyond. Records that are written there later are handled, whatever the
// completions say, because a duplicate is better than a loss.
func (t *Tracker) Truncate(offset int64) {
	t.told.cut(offset)
	t.now++
	if offset >= t.next {
		return // the log was not read that far
	}
	t.next = offset
	t.blocks = slices.DeleteFunc(t.blocks, func(b block) bool { return b.first >= offset })
	if t.ring.empty() || t.ring.oldest().offset >= offset {
		t.ring.forget()
		t.before, t.epoch = offset-1, -1
		t.unfinished, t.prices = 0, prices{}
		return
	}
	t.ring.cut(offset)
	t.recount()
}

// recount recomputes tags, prices and counts from the slots. It visits every slot, which is acceptable for a rare
// event.
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

// Unfinished returns the number of admitted records that are not finished.
func (t *Tracker) Unfinished() int { return t.unfinished }

// width returns the number of offsets of a stretch of slots: its own, and the gaps before them, which have no record.
func (t *Tracker) width(first, last uint64) int64 {
	before := t.before
	if first != t.ring.head {
		before = t.ring.at(first - 1).offset
	}
	return t.ring.at(last).offset - before
}
