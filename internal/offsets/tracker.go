package offsets

import "slices"

// Tracker tracks one partition during one period of ownership. Its methods are not safe for concurrent use.
//
// The cost of a record does not depend on how many are in flight, and there is no allocation once the ring has grown to
// its working size.
type Tracker struct {
	window   window
	identity string

	next   int64 // the log is read up to this offset; -1: nothing was read
	latest int32 // latest leader epoch of a record that the metadata may describe; -1: unknown

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

	// said and encoder are reusable memory for a Commit.
	said    said
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
	t := &Tracker{window: window{ring: newRing(places)}}
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
	t.window.clear(committed - 1)
	t.next = committed
	t.told, t.latest, t.own, t.mark = told{}, -1, false, -1
	t.blocks = t.blocks[:0]
	if committed >= 0 {
		t.told = decode(metadata, committed, t.identity)
		t.latest, t.own, t.mark = t.told.epoch, t.told.genuine, t.told.mark
	}
	t.limit, t.length = maxMetadata, 0
	t.now, t.stored = 0, 0
	if committed >= 0 && !t.own {
		t.now++ // the next Commit has metadata, so that it is recognized
	}
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
	case t.window.empty() && finished:
		t.window.before, t.window.epoch = offset, epoch
		t.now++
		a = Finished
	case t.window.full():
		return 0, 0, Full
	case finished:
		t.window.admitFinished(offset, epoch)
		a = Finished
	default:
		if t.window.empty() {
			t.now++ // the watermark may move over a gap
		} else if !t.fits(offset-t.window.newest().offset, t.budget()-blockBits) {
			return 0, 0, Full
		}
		attempt = t.told.attempt(offset)
		if isBlocked && waits.first == offset {
			attempt = waits.attempt
		}
		seq = t.window.admit(offset, epoch, attempt)
	}
	t.next = offset + 1
	t.told.pass(t.next)
	return seq, attempt, a
}

// Finish marks a record as finished: it was handled, or copied to another topic. A seq of an earlier period, of a
// truncated part of the log, or of a finished record is ignored.
func (t *Tracker) Finish(seq uint64) {
	if !t.window.isOpen(seq) {
		return
	}
	t.latest = max(t.latest, t.window.at(seq).epoch)
	t.now++
	t.window.finish(seq)
}

// Started records the number of attempts of an unfinished record that waits for the next attempt.
func (t *Tracker) Started(seq uint64, attempt int32) {
	if attempt <= 0 || !t.window.isOpen(seq) {
		return
	}
	s := t.window.at(seq)
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
	t.window.truncate(offset)
}

// Unfinished returns the number of admitted records that are not finished.
func (t *Tracker) Unfinished() int { return t.window.unfinished }

// Strained reports whether many records are between the watermark and the newest record, or the metadata is half full.
// If one of these records does not progress, the caller should look for keys to block.
func (t *Tracker) Strained(slots int) bool {
	return int(t.window.tail-t.window.head) > min(slots, strainedSlots) || !t.fits(0, t.budget()/2)
}

// Block says that all records of a key from first on are unfinished, with the number of attempts of the first one, and
// the number of records. The caller then marks them as finished, so that they need no room in the window and in the
// stretches. A Block of the same hash is replaced. false: there is no room for another one.
func (t *Tracker) Block(hash uint64, first int64, attempt int32, count int) bool {
	b := block{hash: hash, first: first, attempt: attempt, count: int64(count)}
	for i := range t.blocks {
		if t.blocks[i].hash != hash {
			continue
		}
		if t.blocks[i] != b {
			t.blocks[i] = b
			t.now++
		}
		return true
	}
	if len(t.blocks)+len(t.told.blocks) >= blocksMost || !t.fits(0, t.budget()-blockBits) {
		return false
	}
	t.blocks = append(t.blocks, b)
	t.now++
	return true
}

// Unblock ends the Block of a key: its unfinished records are in the window.
func (t *Tracker) Unblock(hash uint64) {
	for i := range t.blocks {
		if t.blocks[i].hash == hash {
			t.blocks = append(t.blocks[:i], t.blocks[i+1:]...)
			t.now++
			return
		}
	}
}

// budget returns how many bits all stretches may cost together.
func (t *Tracker) budget() int64 {
	bits := int64(8*(metadataBytes(t.limit)-frameBytes)) - slackBits
	if n := len(t.blocks) + len(t.told.blocks); n > 0 {
		bits -= int64(8*n*blockBytes) + exceptionBits // the stretch from the first blocked record to the watermark
	}
	return bits
}

// fits reports whether all stretches, and one more unfinished record at a distance of width offsets from the newest,
// fit into a budget: whichever records finish next, in any order, some parameter can encode the result.
func (t *Tracker) fits(width, budget int64) bool {
	if t.limit == 0 {
		return true // nothing is encoded, so there is no limit
	}
	for i, low := range lowBits {
		if t.window.prices[i]+t.told.prices[i]+price(width, low) <= budget {
			return true
		}
	}
	return false
}
