package metric

import (
	"slices"
	"sort"
)

// layer has the points of one period, in order of time.
type layer struct {
	period int64 // seconds
	runs   []run
	bytes  int // about what the runs take
}

// run is consecutive points with the same Stats. Metrics of queues are mostly the same number for hours.
type run struct {
	start int64 // of the first point, in seconds since 1970
	n     int64
	value float64 // the only sample of each point, if more is nil
	more  *Stats  // the samples, if a point has not exactly one; then n is 1
}

// cost returns about how many bytes runs take.
func cost(rs ...run) (bytes int) {
	const one, more, value = 40, 64, 16
	for i := range rs {
		if bytes += one; rs[i].more != nil {
			bytes += more + value*len(rs[i].more.Values)
		}
	}
	return bytes
}

func (r *run) stats() Stats {
	if r.more != nil {
		return *r.more
	}
	return Of(r.value, 1)
}

// put adds samples to the point at a time.
func (l *layer) put(at int64, s Stats) {
	at = floor(at, l.period)
	last := len(l.runs) - 1
	if last < 0 || at > l.end(last)-l.period {
		l.push(at, s)
		return
	}
	i := sort.Search(len(l.runs), func(i int) bool { return l.runs[i].start > at }) - 1
	if i < 0 || at >= l.end(i) {
		l.replace(i+1, i+1, newRun(at, s))
		return
	}
	whole := l.runs[i]
	joined := whole.stats()
	joined.Add(s)
	parts := make([]run, 0, 3)
	if n := (at - whole.start) / l.period; n > 0 {
		parts = append(parts, run{start: whole.start, n: n, value: whole.value})
	}
	parts = append(parts, newRun(at, joined))
	if n := (l.end(i)-at)/l.period - 1; n > 0 {
		parts = append(parts, run{start: at + l.period, n: n, value: whole.value})
	}
	l.replace(i, i+1, parts...)
}

// replace replaces the runs [i, j). It is the only function that changes which runs there are.
func (l *layer) replace(i, j int, by ...run) {
	l.bytes += cost(by...) - cost(l.runs[i:j]...)
	l.runs = slices.Replace(l.runs, i, j, by...)
}

func newRun(at int64, s Stats) run {
	if s.Count == 1 {
		return run{start: at, n: 1, value: s.Sum}
	}
	return run{start: at, n: 1, more: &s}
}

// push adds a point behind all others, to the last run if it continues it.
func (l *layer) push(at int64, s Stats) {
	if last := len(l.runs) - 1; last >= 0 && s.Count == 1 {
		if r := &l.runs[last]; r.more == nil && r.value == s.Sum && l.end(last) == at {
			r.n++
			return
		}
	}
	l.replace(len(l.runs), len(l.runs), newRun(at, s))
}

// end returns the time at which the last point of a run ends.
func (l *layer) end(i int) int64 { return l.runs[i].start + l.runs[i].n*l.period }

// trim removes the points before a time, and adds them to the next layer; nil: there is none.
func (l *layer) trim(before int64, next *layer) {
	gone := 0
	for gone < len(l.runs) && l.runs[gone].start < before {
		r := &l.runs[gone]
		n := min(r.n, (before-r.start+l.period-1)/l.period)
		if next != nil {
			l.hand(next, *r, n)
		}
		if n < r.n {
			r.start, r.n = r.start+n*l.period, r.n-n
			break
		}
		gone++
	}
	if gone > 0 {
		l.replace(0, gone)
	}
}

// hand adds the first n points of a run to the next layer, those of one of its points together.
func (l *layer) hand(next *layer, r run, n int64) {
	for at, stop := r.start, r.start+n*l.period; at < stop; {
		upto := min(stop, floor(at, next.period)+next.period)
		next.put(at, times(&r, (upto-at)/l.period))
		at = upto
	}
}

// times returns the samples of n points of a run.
func times(r *run, n int64) Stats {
	if r.more != nil {
		return *r.more
	}
	return Of(r.value, float64(n))
}

// each calls visit for every run that has points in [from, to), cut to this range.
func (l *layer) each(from, to int64, visit func(r *run, start, n int64)) {
	i := sort.Search(len(l.runs), func(i int) bool { return l.end(i) > from })
	for ; i < len(l.runs) && l.runs[i].start < to; i++ {
		r := &l.runs[i]
		start, n := r.start, r.n
		if start < from {
			skip := (from - start + l.period - 1) / l.period
			start, n = start+skip*l.period, n-skip
		}
		if rest := (to - start + l.period - 1) / l.period; n > rest {
			n = rest
		}
		if n > 0 {
			visit(r, start, n)
		}
	}
}

// floor rounds a time down to a multiple of the period; times before 1970 have no points.
func floor(at, period int64) int64 { return at - at%period }
