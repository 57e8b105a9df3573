package offsets

import "testing"

// Finished records join into stretches, in any order of finishing. The prices stay those of a recount, and the window
// begins at the oldest unfinished record.
func TestStretchesOfAWindow(t *testing.T) {
	w := window{ring: newRing(64)}
	w.clear(9)
	var seqs []uint64
	for _, offset := range []int64{10, 11, 15, 16, 20} { // with gaps
		seqs = append(seqs, w.admit(offset, 1, 0))
	}
	w.admitFinished(21, 2)
	for _, step := range []struct {
		finish     int
		unfinished int
		oldest     int64
	}{{2, 4, 10}, {4, 3, 10}, {3, 2, 10}, {0, 1, 11}} {
		w.finish(seqs[step.finish])
		if w.unfinished != step.unfinished || w.oldest().offset != step.oldest {
			t.Errorf("after record %d: %d unfinished, the oldest at %d, want %d and %d", step.finish, w.unfinished,
				w.oldest().offset, step.unfinished, step.oldest)
		}
		again := w
		again.recount()
		if w.prices != again.prices || w.unfinished != again.unfinished {
			t.Errorf("after record %d: prices %v and %d unfinished, recounted %v and %d", step.finish, w.prices,
				w.unfinished, again.prices, again.unfinished)
		}
		if w.isOpen(seqs[step.finish]) {
			t.Errorf("record %d is still open", step.finish)
		}
	}
	if w.finish(seqs[1]); !w.empty() || w.before != 21 || w.epoch != 2 || w.prices != (prices{}) {
		t.Errorf("after the last record: empty %v, before %d, epoch %d, prices %v", w.empty(), w.before, w.epoch, w.prices)
	}
}

// Truncate forgets the records from an offset on, and their numbers are no longer open.
func TestTruncateAWindow(t *testing.T) {
	for name, c := range map[string]struct {
		at         int64
		unfinished int
		before     int64
	}{"in the window": {12, 2, 9}, "at its beginning": {10, 0, 9}, "before it": {5, 0, 4}} {
		w := window{ring: newRing(64)}
		w.clear(9)
		var last uint64
		for offset := int64(10); offset < 15; offset++ {
			last = w.admit(offset, 1, 0)
		}
		w.truncate(c.at)
		if w.unfinished != c.unfinished || w.before != c.before || w.isOpen(last) {
			t.Errorf("%s: %d unfinished, before %d, the last open: %v", name, w.unfinished, w.before, w.isOpen(last))
		}
	}
}
