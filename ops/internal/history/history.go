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
