package metric

import "time"

// track has the points of one metric and one unit.
type track struct {
	unit   string
	second layer
	minute layer
	five   layer
	hour   layer
	hours  map[int64]struct{} // the begins of the hours that are kept; nil: none
}

// How long AWS keeps points.
const (
	keepFinest = 3 * time.Hour
	keepFine   = 15 * 24 * time.Hour
	keepMiddle = 63 * 24 * time.Hour
	keepCoarse = 455 * 24 * time.Hour
)

// Kept returns how long points of a period are kept.
func Kept(period time.Duration) time.Duration {
	switch {
	case period < time.Minute:
		return keepFinest
	case period < 5*time.Minute:
		return keepFine
	case period < time.Hour:
		return keepMiddle
	default:
		return keepCoarse
	}
}

func newTrack(unit string) *track {
	return &track{
		unit: unit, second: layer{period: 1}, minute: layer{period: 60}, five: layer{period: 300},
		hour: layer{period: 3600},
	}
}

func (t *track) put(at int64, s Stats, fine bool) {
	if fine {
		t.second.put(at, s)
	}
	t.minute.put(at, s)
}

// trim moves points that are too old for their layer to the next one. Whole points of the next layer move together.
func (t *track) trim(now time.Time) {
	t.second.trim(now.Add(-keepFinest).Unix(), nil)
	t.minute.trim(floor(now.Add(-keepFine).Unix(), t.five.period), &t.five)
	t.five.trim(floor(now.Add(-keepMiddle).Unix(), t.hour.period), &t.hour)
	t.hour.trim(now.Add(-keepCoarse).Unix(), nil)
}

// bytes returns about how much memory the track takes.
func (t *track) bytes() int {
	const empty = 256
	return empty + t.second.bytes + t.minute.bytes + t.five.bytes + t.hour.bytes
}

func (t *track) empty() bool {
	return len(t.second.runs)+len(t.minute.runs)+len(t.five.runs)+len(t.hour.runs) == 0
}

// layers returns the layers that have points for a period, the oldest points first. As on AWS, a period finds only
// points that are not longer than it.
func (t *track) layers(period int64) []*layer {
	if period < 60 && len(t.second.runs) > 0 {
		return []*layer{&t.second}
	}
	var all []*layer
	if period%t.hour.period == 0 {
		all = append(all, &t.hour)
	}
	if period%t.five.period == 0 {
		all = append(all, &t.five)
	}
	return append(all, &t.minute)
}

// read returns the points of [from, to), each of one period counted from from, without the empty ones.
func (t *track) read(from, to, period int64) []Point {
	var points []Point
	for _, l := range t.layers(period) {
		l.each(from, to, func(r *run, start, n int64) {
			for n > 0 {
				index := (start - from) / period
				at := from + index*period
				if period < l.period {
					at = start // a point of a minute, asked for in shorter periods
				}
				k := max(1, min(n, (at+period-start+l.period-1)/l.period))
				points = join(points, at, t.unit, times(r, k))
				start, n = start+k*l.period, n-k
			}
		})
	}
	return points
}

// join adds samples to the last point if it has the same time.
func join(points []Point, at int64, unit string, s Stats) []Point {
	if last := len(points) - 1; last >= 0 && points[last].At.Unix() == at {
		points[last].Stats.Add(s)
		return points
	}
	p := Point{At: time.Unix(at, 0).UTC(), Unit: unit}
	p.Stats.Add(s) // a copy: the caller's must not change what is stored
	return append(points, p)
}
