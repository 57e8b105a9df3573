package ops

import (
	"math"
	"slices"
	"time"
)

const (
	// remembers is how far back a history goes.
	remembers = 6 * time.Hour
	// remembersEvery is the shortest time between two samples of a history. Samples in between are not remembered, so
	// that a short interval does not need more memory.
	remembersEvery = 10 * time.Second

	// A chunk of points fills 8 KiB, one of Go's sizes of allocations: 315 points of 26 bytes. Seven chunks are 2,205
	// points, and six hours have 2,160.
	chunkPoints = 315
	ringChunks  = 7
	ringPoints  = ringChunks * chunkPoints
)

// These are the numbers of a point.
const (
	pointWaiting = iota
	pointInFlight
	pointDelayed
	pointOldest // seconds
	pointSent   // a second
	pointDone   // a second
	pointNumbers
)

// point is one sample of a history. The numbers have seven digits, which is enough for a chart; NaN is unknown.
type point [pointNumbers]float32

// chunk is a part of a ring. A ring gets its chunks when it needs them.
type chunk struct {
	points [chunkPoints]point
	after  [chunkPoints]uint16 // seconds since the point before
}

// ring is the history of one channel.
type ring struct {
	chunks [ringChunks]*chunk
	next   int // where the next point goes
	count  int
	last   time.Time // of the latest point, as the sum of the seconds has it
}

// add adds a sample, unless one was added lately.
func (r *ring) add(at time.Time, p point) {
	after := at.Sub(r.last).Round(time.Second)
	switch {
	case r.count > 0 && after < remembersEvery:
		return
	case r.count > 0 && after > remembers: // all points are too old, and the number may be too large
		r.next, r.count = 0, 0
		fallthrough
	case r.count == 0:
		after, r.last = 0, at
	default:
		r.last = r.last.Add(after)
	}
	c := &r.chunks[r.next/chunkPoints]
	if *c == nil {
		*c = new(chunk)
	}
	(*c).points[r.next%chunkPoints], (*c).after[r.next%chunkPoints] = p, uint16(after/time.Second)
	r.next = (r.next + 1) % ringPoints
	r.count = min(r.count+1, ringPoints)
}

// samples returns the samples since a time, oldest first.
func (r *ring) samples(since time.Time) []Sample {
	all := make([]Sample, 0, r.count)
	at := r.last
	for i := range r.count {
		n := (r.next - 1 - i + ringPoints) % ringPoints
		if at.Before(since) {
			break
		}
		c := r.chunks[n/chunkPoints]
		all = append(all, c.points[n%chunkPoints].sample(at))
		at = at.Add(-time.Duration(c.after[n%chunkPoints]) * time.Second)
	}
	slices.Reverse(all)
	return all
}

// pointOf makes a point of a sample.
func pointOf(s *Sample) (p point) {
	p[pointWaiting], p[pointInFlight] = float32(s.Waiting), float32(s.InFlight)
	p[pointDelayed] = float32(s.Delayed)
	p[pointOldest] = known(s.Oldest.Seconds())
	p[pointSent], p[pointDone] = known(s.Sent), known(s.Done)
	return p
}

// sample is the inverse of pointOf, without the dead letters.
func (p *point) sample(at time.Time) Sample {
	return Sample{
		At: at, Waiting: int64(p[pointWaiting]), InFlight: int64(p[pointInFlight]), Delayed: int64(p[pointDelayed]),
		DeadLetters: -1, Oldest: time.Duration(orUnknown(p[pointOldest]) * float64(time.Second)),
		Sent: orUnknown(p[pointSent]), Done: orUnknown(p[pointDone]),
	}
}

// known stores a negative number as unknown.
func known(v float64) float32 {
	if v < 0 {
		return float32(math.NaN())
	}
	return float32(v)
}

func orUnknown(v float32) float64 {
	if math.IsNaN(float64(v)) {
		return -1
	}
	return float64(v)
}
