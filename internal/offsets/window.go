package offsets

// window is the records from the oldest unfinished one to the newest that was admitted, as stretches with their prices.
type window struct {
	ring
	before     int64 // the offset before the oldest slot
	epoch      int32 // leader epoch of the last record before the oldest slot; -1: unknown
	unfinished int
	prices     prices // of all stretches
}

// clear forgets all records. The next one is behind the offset before.
func (w *window) clear(before int64) {
	w.forget()
	w.before, w.epoch = before, -1
	w.unfinished, w.prices = 0, prices{}
}

// admit appends an unfinished record.
func (w *window) admit(offset int64, epoch, attempt int32) uint64 {
	if w.empty() {
		w.before = offset - 1
	}
	seq := w.push(slot{offset: offset, epoch: epoch, state: attempt})
	w.prices.add(w.width(seq, seq))
	w.unfinished++
	return seq
}

// admitFinished appends a record that was finished in an earlier period, behind unfinished ones.
func (w *window) admitFinished(offset int64, epoch int32) {
	seq := w.push(slot{offset: offset, epoch: epoch, state: -1})
	first := seq - w.finishedBefore(seq)
	if first < seq {
		w.prices.sub(w.width(first, seq-1))
	}
	w.tag(first, seq)
	w.prices.add(w.width(first, seq))
}

// isOpen reports whether seq is the number of an unfinished record.
func (w *window) isOpen(seq uint64) bool { return w.holds(seq) && !w.at(seq).finished() }

// finish marks an unfinished record as finished. If the record is the oldest, the window then begins behind the
// finished stretch.
func (w *window) finish(seq uint64) {
	left, right := w.finishedBefore(seq), w.finishedAfter(seq)
	first, last := seq-left, seq+right
	w.prices.sub(w.width(seq, seq))
	if left > 0 {
		w.prices.sub(w.width(first, seq-1))
	}
	if right > 0 {
		w.prices.sub(w.width(seq+1, last))
	}
	w.unfinished--
	if seq != w.head {
		w.at(seq).state = -1
		w.tag(first, last)
		w.prices.add(w.width(first, last))
		return
	}
	end := w.at(last)
	w.before, w.epoch = end.offset, end.epoch
	w.head = last + 1
}

// truncate forgets the records at and beyond an offset.
func (w *window) truncate(offset int64) {
	if w.empty() || w.oldest().offset >= offset {
		w.clear(offset - 1)
		return
	}
	w.cut(offset)
	w.recount()
}

// recount recomputes tags, prices and counts from the slots. It visits every slot, which is acceptable for a rare
// event.
func (w *window) recount() {
	w.unfinished, w.prices = 0, prices{}
	for seq := w.head; seq != w.tail; seq++ {
		if !w.at(seq).finished() {
			w.unfinished++
			w.prices.add(w.width(seq, seq))
			continue
		}
		first := seq
		for seq+1 != w.tail && w.at(seq+1).finished() {
			seq++
		}
		w.tag(first, seq)
		w.prices.add(w.width(first, seq))
	}
}

// width returns the number of offsets of a stretch of slots: its own, and the gaps before them, which have no record.
func (w *window) width(first, last uint64) int64 {
	before := w.before
	if first != w.head {
		before = w.at(first - 1).offset
	}
	return w.at(last).offset - before
}
