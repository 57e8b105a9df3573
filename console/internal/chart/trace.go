package chart

// A point is a value at its place.
type point struct{ x, y, v float64 }

// A sample is what one column says of one series.
type sample struct {
	known     bool
	low, high float64
	points    [2]point // low and high in their order; one point if they are equal
	n         int
}

// sample joins the values of a column. It is unknown if all values are.
func (p *plot) sample(c column, value func(i int) float64) (s sample) {
	low, high := -1, -1
	for i := c.first; i < c.last; i++ {
		v := value(i)
		if !known(v) {
			continue
		}
		if low < 0 || v < s.low {
			low, s.low = i, v
		}
		if high < 0 || v > s.high {
			high, s.high = i, v
		}
	}
	if low < 0 {
		return s
	}
	s.known = true
	for _, i := range [...]int{min(low, high), max(low, high)} {
		if s.n == 0 || low != high {
			v := value(i)
			s.points[s.n] = point{p.x(i), p.y(v), v}
			s.n++
		}
	}
	return s
}

// samples joins the values of a series to those of its columns.
func (p *plot) samples(value func(i int) float64) []sample {
	all := make([]sample, len(p.columns))
	for k, c := range p.columns {
		all[k] = p.sample(c, value)
	}
	return all
}

// trace returns the line of a series, with gaps where it is unknown, and the parts of it beyond a bound, if there is
// one.
func (p *plot) trace(samples []sample, limit float64) (line, beyond path) {
	var last point
	length := 0 // of the part of the line that last ends
	for _, s := range samples {
		if !s.known {
			line, length = lonely(line, last, length), 0
			continue
		}
		for _, at := range s.points[:s.n] {
			if length++; length == 1 {
				line = line.move(at.x, at.y)
			} else {
				line = line.line(at.x, at.y)
				beyond = p.segment(beyond, last, at, limit)
			}
			last = at
		}
	}
	return lonely(line, last, length), beyond
}

// lonely makes a point without neighbors visible.
func lonely(line path, at point, length int) path {
	if length != 1 {
		return line
	}
	return line.move(at.x-2, at.y).to('h', 4)
}

// segment adds the part of a line from a to b that is beyond a bound.
func (p *plot) segment(beyond path, a, b point, limit float64) path {
	if limit <= 0 || a.v <= limit && b.v <= limit {
		return beyond
	}
	cross := func() point { // where the line has the value of the bound
		return point{x: a.x + (b.x-a.x)*(limit-a.v)/(b.v-a.v), y: p.y(limit)}
	}
	switch {
	case a.v <= limit:
		a = cross()
	case b.v <= limit:
		b = cross()
	}
	return beyond.move(a.x, a.y).line(b.x, b.y)
}
