package walk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

const (
	// ShortLease is how long a few held messages are leased for, and heldPerLease how many more are worth another
	// such time: many of them need many requests for one renewal. longLease bounds it, since after a crash the messages
	// are hidden for that long.
	ShortLease   = time.Minute
	heldPerLease = 10_000
	longLease    = 15 * time.Minute
	// ReleasePatience bounds how long the return of messages is tried.
	ReleasePatience = time.Minute
)

// LeaseFor returns for how long messages are leased if there are n of them.
func LeaseFor(n int64) time.Duration {
	return time.Duration(min(int64(ShortLease)*(1+n/heldPerLease), int64(longLease)))
}

// Held keeps the leases of all messages that an operation has received, from the receive until they are finished or
// released: of those in hand, about which it decides, and of those that stay.
type Held struct {
	recv driver.Receiver
	lim  driver.ReceiveLimits

	mu      sync.Mutex
	entries []*holding // in the order in which they were received; some may be dropped
	byID    map[string]*holding
	staying int
	round   int // of renewals
}

// holding is one held message.
type holding struct {
	id      string
	handle  driver.Handle // the newest
	ends    time.Time     // zero: no lease
	round   int           // the last one in which its renewal was tried
	stays   bool          // otherwise it is in hand
	dropped bool
}

// NewHeld returns a Held without messages.
func NewHeld(r driver.Receiver) *Held {
	return &Held{recv: r, lim: r.Limits(), byID: map[string]*holding{}}
}

// Take takes messages in hand, and returns those that were not held. A held message is received again if its lease
// was lost. Its new handle then replaces the old one, with which services no longer delete it.
func (h *Held) Take(ds []driver.Delivery) (fresh []driver.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh = make([]driver.Delivery, 0, len(ds))
	for i := range ds {
		d := &ds[i]
		if one, again := h.byID[d.ID]; again {
			one.handle, one.ends = d.Handle, d.LeaseEnds
			continue
		}
		one := &holding{id: d.ID, handle: d.Handle, ends: d.LeaseEnds}
		h.byID[d.ID], h.entries = one, append(h.entries, one)
		fresh = append(fresh, *d)
	}
	return fresh
}

// Stay holds messages that were in hand until they are released.
func (h *Held) Stay(ds ...driver.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range ds {
		if one := h.byID[ds[i].ID]; one != nil && !one.stays {
			one.stays = true
			h.staying++
		}
	}
}

// handle returns the newest handle of a message in hand.
func (h *Held) handle(id string) driver.Handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id].handle
}

// drop forgets messages in hand that were finished with the given handles. It returns the ids of those that have been
// received again meanwhile: they are to be finished with their newest handles.
func (h *Held) drop(ids []string, with []driver.Handle) (again []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		one := h.byID[id]
		if one.handle != with[i] {
			again = append(again, id)
			continue
		}
		one.dropped = true
		delete(h.byID, id)
	}
	if len(h.entries) > 2*len(h.byID)+100 {
		h.entries = slices.DeleteFunc(h.entries, func(one *holding) bool { return one.dropped })
	}
	return again
}

// count returns how many messages stay.
func (h *Held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.staying
}

// lease returns for how long leases are renewed.
func (h *Held) lease() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return LeaseFor(int64(len(h.byID)))
}

// keep renews the leases until ctx ends. Leases that are lost are forgotten; their messages may be received again.
func (h *Held) keep(ctx context.Context) {
	e, ok := h.recv.(driver.Extender)
	if !ok || h.lim.Lease == 0 {
		return
	}
	tick := time.NewTicker(min(h.lim.Lease, ShortLease) / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.renew(ctx, e)
		}
	}
}

// renew renews the leases that have passed the half of their time, once each. Those that end first come first, because
// a fresh lease is short, and may end before thousands of others are renewed. While the service does not answer, the
// rest is left to the next tick.
func (h *Held) renew(ctx context.Context, e driver.Extender) {
	h.round++
	most := max(1, h.lim.SettleBatch)
	for {
		by := h.lease()
		batches := slices.Collect(slices.Chunk(h.due(time.Now().Add(by/2), most*calling.AtOnce), most))
		answered := make([]bool, len(batches))
		calling.InParallel(len(batches), func(i int) { answered[i] = h.extend(ctx, e, batches[i], by) })
		if !slices.Contains(answered, true) {
			return
		}
	}
}

// extend renews one batch of leases, and reports whether the service has answered.
func (h *Held) extend(ctx context.Context, e driver.Extender, some []*holding, by time.Duration) bool {
	handles := make([]driver.Handle, len(some))
	h.mu.Lock()
	for i := range some {
		handles[i] = some[i].handle
	}
	h.mu.Unlock()
	ends, err := e.Extend(ctx, handles, by)
	batch, _ := errors.AsType[*driver.BatchError](err)
	if err != nil && batch == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, one := range some {
		switch {
		case one.handle != handles[i]: // received again meanwhile, with a lease of its own
		case batch != nil && errors.Is(batch.Errs[i], driver.ErrLost):
			one.ends = time.Time{} // it is released as well, which then has no effect
		case batch == nil || batch.Errs[i] == nil:
			one.ends = ends
		}
	}
	return true
}

// due returns the messages whose leases end before a time and were not tried in this round. It returns at most so many,
// those first that end first.
func (h *Held) due(before time.Time, most int) (due []*holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.entries {
		if !one.dropped && one.round != h.round && !one.ends.IsZero() && one.ends.Before(before) {
			due = append(due, one)
		}
	}
	slices.SortStableFunc(due, func(a, b *holding) int { return a.ends.Compare(b.ends) })
	due = due[:min(most, len(due))]
	for _, one := range due {
		one.round = h.round
	}
	return due
}

// giveUp returns the messages that stay, and no longer renews their leases.
func (h *Held) giveUp() (all []*holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := h.entries[:0:0]
	for _, one := range h.entries {
		switch {
		case one.dropped:
		case one.stays:
			all = append(all, one)
			one.dropped = true
			delete(h.byID, one.id)
		default:
			rest = append(rest, one)
		}
	}
	h.entries, h.staying = rest, 0
	return all
}

// Release releases the messages that stay, also if ctx has ended.
func (h *Held) Release(ctx context.Context) error { return h.release(ctx, h.giveUp()) }

// release releases messages, also if ctx has ended. What cannot be released is delivered again when its lease ends.
func (h *Held) release(ctx context.Context, entries []*holding) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReleasePatience)
	defer cancel()
	most := h.lim.SettleBatch
	if most == 0 {
		most = max(1, len(entries))
	}
	var mu sync.Mutex
	var failed error
	batches := slices.Collect(slices.Chunk(entries, most))
	calling.InParallel(len(batches), func(i int) {
		batch := make([]driver.Settlement, len(batches[i]))
		for k, one := range batches[i] {
			batch[k] = driver.Settlement{Handle: one.handle, Action: driver.Release}
		}
		if err := calling.Settle(ctx, h.recv, batch); err != nil {
			mu.Lock()
			failed = err
			mu.Unlock()
		}
	})
	if failed != nil {
		return fmt.Errorf("release messages that stay; they are delivered again when their leases end: %w", failed)
	}
	return nil
}
