package later

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// maxHeld and maxHeldBytes bound the messages that are held until they are due.
	maxHeld      = 1000
	maxHeldBytes = 16 << 20
)

// item is a message that is held. Both times are by the clock of this machine.
type item struct {
	wire.Waiting
	due   time.Time
	until time.Time // its lease is too short for a send after this
}

// held is the messages that are held until they are due, the first one first. It is safe for concurrent use.
type held struct {
	changed chan struct{} // has a value when messages were added
	mu      sync.Mutex
	items   []item
	bytes   int
}

func newHeld() *held { return &held{changed: make(chan struct{}, 1)} }

// add adds messages in the order of their times by the service's clock, and of their sends where these are equal. Their
// times by this machine's clock have an error of up to a second, which differs between receives.
func (h *held) add(items ...item) {
	h.mu.Lock()
	h.items = append(h.items, items...)
	slices.SortStableFunc(h.items, func(a, b item) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Sequence, b.Sequence))
	})
	for i := range items {
		h.bytes += items[i].size()
	}
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// due takes the messages that are due. If there are none, it returns how long it is until the first one is.
func (h *held) due(now time.Time) (items []item, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for n < len(h.items) && !h.items[n].due.After(now) {
		h.bytes -= h.items[n].size()
		n++
	}
	items = slices.Clone(h.items[:n])
	h.items = slices.Delete(h.items, 0, n)
	if n > 0 {
		return items, 0
	}
	if len(h.items) == 0 {
		return nil, time.Hour // add ends the wait
	}
	return nil, h.items[0].due.Sub(now)
}

// room waits until more messages can be held; false: ctx has ended.
func (h *held) room(ctx context.Context) bool {
	for {
		h.mu.Lock()
		full := len(h.items) >= maxHeld || h.bytes >= maxHeldBytes
		h.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return false
		}
	}
}

// rest takes all messages.
func (h *held) rest() []item {
	h.mu.Lock()
	defer h.mu.Unlock()
	items := h.items
	h.items, h.bytes = nil, 0
	return items
}

func (i *item) size() int { return len(aws.ToString(i.Body)) }
