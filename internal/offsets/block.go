package offsets

import "encoding/binary"

const (
	// blocksMost is how many keys can be blocked at once. They take less than half of the metadata.
	blocksMost = 64
	// blockBytes is the most that a block takes: its hash, and three numbers.
	blockBytes = 8 + binary.MaxVarintLen64 + 5 + 5
	// strainedSlots is how many records lie between the watermark and the newest when something does not get on.
	strainedSlots = 4096
)

// block is a key whose records wait: none from an offset on is finished, whatever the stretches say.
type block struct {
	hash    uint64
	first   int64
	attempt int32 // of the first one, as far as known
	count   int64 // records, about
}

// Hash is a key's hash in the metadata, which is the same in every process (FNV-1a). Keys of the same hash share their
// blocks: a record of the one may be handled again because the other one waits.
func Hash(key []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, c := range key {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

// Strained reports whether much lies between the watermark and the newest record, or whether the metadata is half full.
// It is the time to look for keys to block.
func (t *Tracker) Strained(slots int) bool {
	return int(t.ring.tail-t.ring.head) > min(slots, strainedSlots) || !t.fits(0, t.budget()/2)
}

// Block says that no record of a key is finished from first on, the first one with a number of attempts, and how many
// records these are. They are then to be marked as finished, so that they take no room in the ring nor in the
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
	if len(t.blocks)+len(t.told.blocks) >= blocksMost || !t.fits(0, t.budget()-8*blockBytes-exceptionBits) {
		return false
	}
	t.blocks = append(t.blocks, b)
	t.now++
	return true
}

// Unblock ends the Block of a key: what is unfinished of it is in the ring.
func (t *Tracker) Unblock(hash uint64) {
	for i := range t.blocks {
		if t.blocks[i].hash == hash {
			t.blocks = append(t.blocks[:i], t.blocks[i+1:]...)
			t.now++
			return
		}
	}
}

// blocked returns the block in which a record of an earlier period is.
func (k *told) blocked(offset int64, key []byte) (b block, ok bool) {
	if len(k.blocks) == 0 {
		return b, false
	}
	hash := Hash(key)
	for _, b := range k.blocks {
		if b.hash == hash && b.first <= offset {
			return b, true
		}
	}
	return b, false
}

// allBlocks returns the blocks for a commit: those of this period, and those of an earlier one for what was not read
// again yet.
func (t *Tracker) allBlocks() []block {
	t.both = append(t.both[:0], t.blocks...)
	for _, b := range t.told.blocks {
		if b.first < t.next { // what was read again is in the ring, or blocked again
			b.first, b.attempt, b.count = t.next, 0, 0
		}
		t.both = append(t.both, b)
	}
	return t.both
}
