package history

import (
	"slices"
	"time"
)

const (
	// Span is how far back a history goes.
	Span = 6 * time.Hour
	// Every is the shortest time between two points of a history. Points in between are not remembered, so that a short
	// interval does not need more memory.
	Every = 10 * time.Second

	// A chunk of points fills 8 KiB, one of Go's sizes of allocations: 315 points of 26 bytes. Seven chunks are 2,205
	// points, and six hours have 2,160.
	chunkPoints = 315
	ringChunks  = 7
	ringPoints  = ringChunks * chunkPoints
)

// Point is one sample of a history. The numbers have seven digits, which is enough for a chart; NaN is unknown.
type Point struct {
	Waiting, InFlight, Delayed float32
	Oldest                     float32 // seconds
	Sent, Done                 float32 // a second
}

// Moment is a point at its time.
type Moment struct {
	At time.Time
	Point
}

// chunk is a part of a ring. A ring gets its chunks when it needs them.
type chunk struct {
	points [chunkPoints]Point
	after  [chunkPoints]uint16 // seconds since the point before
}

// ring is the history of one channel.
type ring struct {
	chunks [ringChunks]*chunk
	next   int // where the next point goes
	count  int
	last   time.Time // of the latest point, as the sum of the seconds has it
}

// add adds a point, unless one was added lately.
func (r *ring) add(at time.Time, p Point) {
	after := at.Sub(r.last).Round(time.Second)
	switch {
	case r.count > 0 && after < Every:
		return
	case r.count > 0 && after > Span: // all points are too old, and the number may be too large
		r.next, r.count = 0, 0
		fallthrough
	case r.count == 0:
		after, r.last = 0, at
	default:
		r.last = r.last.Add(after)
	}
	r.put(p, uint16(after/time.Second))
}

// put adds a point so many seconds after the latest one.
func (r *ring) put(p Point, after uint16) {
	c := &r.chunks[r.next/chunkPoints]
	if *c == nil {
		*c = new(chunk)
	}
	(*c).points[r.next%chunkPoints], (*c).after[r.next%chunkPoints] = p, after
	r.next = (r.next + 1) % ringPoints
	r.count = min(r.count+1, ringPoints)
}

// since returns the points since a time, oldest first.
func (r *ring) since(from time.Time) []Moment {
	all := make([]Moment, 0, r.count)
	at := r.last
	for i := range r.count {
		n := (r.next - 1 - i + ringPoints) % ringPoints
		if at.Before(from) {
			break
		}
		c := r.chunks[n/chunkPoints]
		all = append(all, Moment{at, c.points[n%chunkPoints]})
		at = at.Add(-time.Duration(c.after[n%chunkPoints]) * time.Second)
	}
	slices.Reverse(all)
	return all
}

// saved returns the points as a file has them, oldest first.
func (r *ring) saved() []savedPoint {
	all := make([]savedPoint, 0, r.count)
	for i := range r.count {
		n := (r.next - r.count + i + ringPoints) % ringPoints
		c := r.chunks[n/chunkPoints]
		all = append(all, savedPoint{c.after[n%chunkPoints], c.points[n%chunkPoints]})
	}
	return all
}
