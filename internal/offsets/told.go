package offsets

// told is the content of the metadata at the start of a period of ownership. It is part of each commit until the log
// was read beyond it.
type told struct {
	stretches []stretch // finished ones, ascending, not adjacent
	tries     []try     // ascending
	read      int       // number of stretches that were read again
	tried     int       // number of tries that were read again
	prices    prices    // of the stretches that were not read again, and of the gaps before them
	base      int64     // the committed offset, or where an earlier stretch ended
	// epoch is the latest leader epoch of a record that the metadata describes. A record with a later epoch is not one
	// of them, nor is any record behind it.
	epoch int32

	blocks  []block
	genuine bool  // the text was written by this package, for this offset of this log
	mark    int64 // -1: none
}

// stretch is a range of finished offsets, including both ends.
type stretch struct{ from, to int64 }

// try is an unfinished record with its number of attempts.
type try struct {
	offset  int64
	attempt int32
}

func (k *told) rest() []stretch { return k.stretches[k.read:] }
func (k *told) hopes() []try    { return k.tries[k.tried:] }

// finished reports whether the record that is read next was finished.
func (k *told) finished(offset int64) bool {
	for _, s := range k.rest() {
		if s.to >= offset {
			return s.from <= offset
		}
	}
	return false
}

// attempt returns the known number of attempts of the record that is read next.
func (k *told) attempt(offset int64) int32 {
	for _, y := range k.hopes() {
		if y.offset >= offset {
			if y.offset == offset {
				return y.attempt
			}
			break
		}
	}
	return 0
}

// pass removes everything that lies before next.
func (k *told) pass(next int64) {
	for k.read < len(k.stretches) && k.stretches[k.read].to < next {
		gap, length := k.lengths(k.read)
		k.prices.sub(gap)
		k.prices.sub(length)
		k.read++
	}
	for k.tried < len(k.tries) && k.tries[k.tried].offset < next {
		k.tried++
	}
	if k.read == len(k.stretches) && k.tried == len(k.tries) {
		*k = told{}
	}
}

// see handles a log that was truncated since the commit: epochs never fall along a log, so everything at and beyond a
// record of a later epoch was written after the commit, and is removed.
func (k *told) see(offset int64, epoch int32) {
	if epoch > k.epoch && len(k.rest())+len(k.hopes()) > 0 {
		k.cut(offset)
	}
}

// cut removes everything at and beyond an offset.
func (k *told) cut(offset int64) {
	rest, hopes := k.rest(), k.hopes()
	for n := len(rest); n > 0 && rest[n-1].to >= offset; n = len(rest) {
		if rest[n-1].to = offset - 1; rest[n-1].from >= offset {
			rest = rest[:n-1]
		}
	}
	for len(hopes) > 0 && hopes[len(hopes)-1].offset >= offset {
		hopes = hopes[:len(hopes)-1]
	}
	base := k.base
	if k.read > 0 {
		base = k.stretches[k.read-1].to + 1
	}
	*k = told{stretches: rest, tries: hopes, base: base, epoch: k.epoch, blocks: k.blocks}
	k.price()
}

// price computes the prices of the stretches that were not read again.
func (k *told) price() {
	k.prices = prices{}
	for i := k.read; i < len(k.stretches); i++ {
		gap, length := k.lengths(i)
		k.prices.add(gap)
		k.prices.add(length)
	}
}

// lengths returns the length of a stretch, and of the gap before it.
func (k *told) lengths(i int) (gap, length int64) {
	s, end := k.stretches[i], k.base
	if i > 0 {
		end = k.stretches[i-1].to + 1
	}
	return s.from - end, s.to - s.from + 1
}

// Completed returns how many offsets beyond a commit its metadata says are finished. Offsets without a record count as
// well, and a key that waits counts as far as its records were known.
func Completed(committed int64, metadata, identity string) (n int64) {
	k := decode(metadata, committed, identity)
	for _, s := range k.stretches {
		n += s.to - s.from + 1
	}
	for _, b := range k.blocks {
		n -= b.count
	}
	return max(n, 0)
}
