package offsets

// told is what the metadata said at the start of a period of ownership. It is kept until the log was read past it, and until
// then goes into each commit again.
type told struct {
	stretches []stretch // finished ones, ascending, not touching
	tries     []try     // ascending
	read      int       // stretches before this one are read
	tried     int       // tries before this one are read
	prices    prices    // of the stretches not yet read, and of what lies before each
	base      int64     // the committed offset, or where an earlier stretch ended
	// epoch is the latest leader epoch of a record that was told of. One of a later epoch is none of those, nor is any behind it.
	epoch int32
}

// stretch is finished from its first to its last offset.
type stretch struct{ from, to int64 }

// try is an unfinished record that had been started so many times.
type try struct {
	offset  int64
	attempt int32
}

func (k *told) rest() []stretch { return k.stretches[k.read:] }
func (k *told) hopes() []try    { return k.tries[k.tried:] }

// finished says whether a record that is read next was.
func (k *told) finished(offset int64) bool {
	for _, s := range k.rest() {
		if s.to >= offset {
			return s.from <= offset
		}
	}
	return false
}

// attempt is how often a record that is read next was started, as far as known.
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

// pass drops what lies wholly before next.
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

// see drops what is told of a log that was cut since: epochs never fall along a log, so what lies at and beyond a record of a
// later epoch was written after the telling.
func (k *told) see(offset int64, epoch int32) {
	if epoch > k.epoch && len(k.rest())+len(k.hopes()) > 0 {
		k.cut(offset)
	}
}

// cut drops what lies at and beyond an offset.
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
	*k = told{stretches: rest, tries: hopes, base: base, epoch: k.epoch}
	k.price()
}

// price sums up what the stretches not yet read cost.
func (k *told) price() {
	k.prices = prices{}
	for i := k.read; i < len(k.stretches); i++ {
		gap, length := k.lengths(i)
		k.prices.add(gap)
		k.prices.add(length)
	}
}

// lengths are those of a stretch and of what lies between it and the one before it.
func (k *told) lengths(i int) (gap, length int64) {
	s, end := k.stretches[i], k.base
	if i > 0 {
		end = k.stretches[i-1].to + 1
	}
	return s.from - end, s.to - s.from + 1
}
