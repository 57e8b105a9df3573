package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// shortLease is how long a few held messages are leased for, and heldPerLease how many more are worth another
	// such time: many of them need many requests for one renewal. longLease bounds it, since after a crash the messages
	// are hidden for that long.
	shortLease   = time.Minute
	heldPerLease = 10_000
	longLease    = 15 * time.Minute
	// releasePatience bounds how long the return of messages is tried.
	releasePatience = time.Minute
)

// held keeps the leases of messages that an operation has received and leaves where they are, and releases them.
type held struct {
	recv driver.Receiver
	lim  driver.ReceiveLimits

	mu      sync.Mutex
	entries []*holding // in the order in which they were received
}

// holding is one held message.
type holding struct {
	handle driver.Handle
	ends   time.Time // zero: no lease
}

// add takes messages.
func (h *held) add(ds ...driver.Delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range ds {
		h.entries = append(h.entries, &holding{ds[i].Handle, ds[i].LeaseEnds})
	}
}

// count returns how many messages are held.
func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

// lease returns for how long leases are renewed.
func (h *held) lease() time.Duration {
	return min(shortLease*time.Duration(1+h.count()/heldPerLease), longLease)
}

// keep renews the leases until ctx ends. Leases that are lost are forgotten; their messages may be received again.
func (h *held) keep(ctx context.Context) {
	e, ok := h.recv.(driver.Extender)
	if !ok || h.lim.Lease == 0 {
		return
	}
	for tick := time.NewTicker(min(h.lim.Lease, shortLease) / 6); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			h.renew(ctx, e)
		}
	}
}

// renew renews the leases that have passed the half of their time.
func (h *held) renew(ctx context.Context, e driver.Extender) {
	by := h.lease()
	for some := range slices.Chunk(h.due(time.Now().Add(min(by, h.lim.Lease)/2)), max(1, h.lim.SettleBatch)) {
		handles := make([]driver.Handle, len(some))
		for i := range some {
			handles[i] = some[i].handle
		}
		ends, err := e.Extend(ctx, handles, by)
		batch, _ := errors.AsType[*driver.BatchError](err)
		if err != nil && batch == nil {
			return // until the next tick
		}
		h.mu.Lock()
		for i := range some {
			some[i].ends = ends
			if batch != nil && batch.Errs[i] != nil {
				some[i].ends = time.Time{} // lost: it is released as well, which then has no effect
			}
		}
		h.mu.Unlock()
	}
}

// due returns the messages whose leases end before a time.
func (h *held) due(before time.Time) (due []*holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.entries {
		if !one.ends.IsZero() && one.ends.Before(before) {
			due = append(due, one)
		}
	}
	return due
}

// take returns all held messages, and forgets them.
func (h *held) take() []*holding {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.entries
	h.entries = nil
	return all
}

// release releases messages, also if ctx has ended. What cannot be released is delivered again when its lease ends.
func (h *held) release(ctx context.Context, entries []*holding) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	most := h.lim.SettleBatch
	if most == 0 {
		most = max(1, len(entries))
	}
	var mu sync.Mutex
	var failed error
	batches := slices.Collect(slices.Chunk(entries, most))
	inParallel(len(batches), func(i int) {
		batch := make([]driver.Settlement, len(batches[i]))
		for k, one := range batches[i] {
			batch[k] = driver.Settlement{Handle: one.handle, Action: driver.Release}
		}
		if err := settle(ctx, h.recv, batch); err != nil {
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
