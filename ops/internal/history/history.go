package history

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// History is the history of all channels. It is safe for concurrent use; the zero History is empty.
type History struct {
	mu    sync.Mutex
	rings map[driver.Channel]*ring
}

// Add adds points of a time, and forgets channels that had none for too long.
func (h *History) Add(at time.Time, points map[driver.Channel]Point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rings == nil {
		h.rings = map[driver.Channel]*ring{}
	}
	for ch, p := range points {
		r := h.rings[ch]
		if r == nil {
			r = &ring{}
			h.rings[ch] = r
		}
		r.add(at, p)
	}
	for ch, r := range h.rings {
		if at.Sub(r.last) > Span {
			delete(h.rings, ch)
		}
	}
}

// Fill adds moments of one channel, oldest first, to times of which nothing is remembered.
func (h *History) Fill(ch driver.Channel, moments []Moment) {
	if len(moments) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rings == nil {
		h.rings = map[driver.Channel]*ring{}
	}
	var known []Moment
	if r := h.rings[ch]; r != nil {
		known = r.since(time.Now().Add(-Span))
	}
	whole := &ring{}
	for _, m := range moments {
		for len(known) > 0 && known[0].At.Before(m.At.Add(Every)) {
			whole.add(known[0].At, known[0].Point)
			known = known[1:]
		}
		whole.add(m.At, m.Point) // which drops it if the point before is too near
	}
	for _, k := range known {
		whole.add(k.At, k.Point)
	}
	h.rings[ch] = whole
}

// Latest is the time of the last point of a channel; zero: there is none.
func (h *History) Latest(ch driver.Channel) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rings[ch]; r != nil {
		return r.last
	}
	return time.Time{}
}

// Of returns what is remembered of a channel, oldest first.
func (h *History) Of(ch driver.Channel) []Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rings[ch]
	if r == nil {
		return nil
	}
	return r.since(time.Now().Add(-Span))
}
