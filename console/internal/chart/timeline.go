package chart

import "time"

// longestSpan bounds what a time axis covers, so that no duration overflows.
const longestSpan = 100 * 366 * day

// A timeline is a time axis: from its start to its end, in pixels from left to right.
type timeline struct {
	start, end time.Time
	left, w    float64
}

// evenly is the timeline of n values, one a step, the last at the end.
func evenly(n int, step time.Duration, end time.Time, left, w float64) timeline {
	if step <= 0 {
		step = time.Minute
	}
	steps := time.Duration(max(n-1, 0))
	if steps > 0 {
		step = min(step, longestSpan/steps)
	}
	return timeline{start: end.Add(-steps * step), end: end, left: left, w: w}
}

func (t timeline) span() time.Duration { return t.end.Sub(t.start) }

// x returns where a time is.
func (t timeline) x(at time.Time) float64 {
	if t.span() <= 0 {
		return t.left + t.w
	}
	return t.left + t.w*(float64(at.Sub(t.start))/float64(t.span()))
}

// at returns the time of value i of n.
func (t timeline) at(i, n int) time.Time {
	if n < 2 {
		return t.end
	}
	return t.start.Add(t.span() / time.Duration(n-1) * time.Duration(i))
}

// write writes a time as exactly as the axis needs it.
func (t timeline) write(at time.Time) string {
	switch {
	case t.span() >= 200*day:
		return at.Format("2006-01-02")
	case t.span() >= day:
		return at.Format("Jan 2 15:04")
	case t.span() > 10*time.Minute:
		return at.Format("15:04")
	default:
		return at.Format("15:04:05")
	}
}

// between writes the time of values that are drawn as one.
func (t timeline) between(from, to time.Time) string {
	a, b := t.write(from), t.write(to)
	if a == b {
		return a
	}
	return a + " to " + b
}

// axis draws the times of a timeline below y, and the lines of the grid above it.
func (t timeline) axis(d *drawing, top, bottom float64) {
	if t.span() <= 0 {
		d.text("c-text c-name", t.left+t.w, bottom+13, before, t.write(t.end))
		return
	}
	step := t.distance()
	for at := t.first(step); !at.After(t.end); at = at.Add(step) {
		x := t.x(at)
		d.path("c-grid", path(nil).move(x, top).line(x, bottom), "")
		if w := extent("15:04") / 2; x >= t.left+w-10 && x <= t.left+t.w-w {
			d.text("c-text c-name", x, bottom+13, around, mark(at, step))
		}
	}
}

// distance returns the distance of the lines of the grid.
func (t timeline) distance() time.Duration {
	lines := max(time.Duration(t.w/70), 1)
	for _, step := range distances {
		if t.span()/step <= lines {
			return step
		}
	}
	step := distances[len(distances)-1]
	for t.span()/step > lines {
		step *= 2
	}
	return step
}

// first returns the first line of the grid. The lines are at round times of the location.
func (t timeline) first(step time.Duration) time.Time {
	_, offset := t.start.Zone()
	zone := time.Duration(offset) * time.Second
	at := t.start.Add(zone).Truncate(step).Add(-zone)
	if at.Before(t.start) {
		at = at.Add(step)
	}
	return at
}

// mark writes the time of a line of the grid.
func mark(at time.Time, step time.Duration) string {
	switch {
	case step >= 200*day:
		return at.Format("2006-01")
	case step >= day || at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0:
		return at.Format("Jan 2")
	case step >= time.Minute:
		return at.Format("15:04")
	default:
		return at.Format("15:04:05")
	}
}
