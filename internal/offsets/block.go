package offsets

import "encoding/binary"

const (
	// blocksMost is how many keys can be blocked at once. They take less than half of the metadata.
	blocksMost = 64
	// blockBytes is the most that a block takes: its hash, and three numbers.
	blockBytes = 8 + binary.MaxVarintLen64 + 5 + 5
	// blockBits is the most room that another block takes from the stretches. Admit leaves it free: otherwise a
	// partition that is full before its caller knows the slow key could not block it.
	blockBits = 8*blockBytes + exceptionBits
	// strainedSlots is the largest number of records from the watermark to the newest one of a partition without a
	// stuck key.
	strainedSlots = 4096
)

// block is a key whose records wait: all of them from an offset on are unfinished, whatever the stretches say.
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

// blocksFrom appends to into the blocks of an earlier period, for the records from next on: those before were read
// again, and are in the window or in a block of this period.
func (k *told) blocksFrom(next int64, into []block) []block {
	for _, b := range k.blocks {
		if b.first < next {
			b.first, b.attempt, b.count = next, 0, 0
		}
		into = append(into, b)
	}
	return into
}
