package godwittest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// gate counts by channel what consumers and producers have open. It wakes the goroutines that wait for a change, and
// lets no Receive begin while the server's clock moves.
type gate struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	moving  bool          // the server's clock moves

	senders   map[string]int
	receivers map[string]int
	polls     map[string]int // running Receive calls
}

func newGate() *gate {
	return &gate{
		changed: make(chan struct{}),
		senders: map[string]int{}, receivers: map[string]int{}, polls: map[string]int{},
	}
}

// next returns a channel that is closed at the next change.
func (g *gate) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// change wakes the goroutines that wait for a change.
func (g *gate) change() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
}

// add changes one of the gate's numbers.
func (g *gate) add(to map[string]int, channel string, more int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to[channel] += more
}

// total adds up one of the gate's numbers over all channels.
func (g *gate) total(of map[string]int) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range of {
		n += k
	}
	return n
}

// enter lets a Receive begin when the server's clock does not move. It returns false if ctx ends first.
func (g *gate) enter(ctx context.Context, channel string) bool {
	for {
		g.mu.Lock()
		if !g.moving {
			g.polls[channel]++
			g.mu.Unlock()
			return true
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// halt stops receiving.
func (g *gate) halt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moving = true
}

// resume allows receiving again.
func (g *gate) resume() {
	g.mu.Lock()
	g.moving = false
	g.mu.Unlock()
	g.change()
}

// receives reports whether a channel has an open receiver.
func (g *gate) receives(channel string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.receivers[channel] > 0
}

// received returns the channels whose receivers were opened.
func (g *gate) received() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.receivers))
}

// open lists the channels with senders that were left open.
func (g *gate) open() (lines []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for channel, n := range g.senders {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s", count(n, "producer"), channel))
		}
	}
	slices.Sort(lines)
	return lines
}
