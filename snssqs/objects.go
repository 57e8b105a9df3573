package snssqs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// deletesAtOnce is how many deletes of objects are in flight. Above it, a settlement waits for its own.
	deletesAtOnce = 8
	// deleteGrace is how long Close waits for them. An object that is left is deleted by the store's lifecycle.
	deleteGrace = 2 * time.Second
	// complainEvery is how often a failed delete is logged.
	complainEvery = time.Minute
)

// objects deletes the objects of messages that were deleted, in goroutines of its own, so that a settlement does not
// wait for the store. A nil objects deletes nothing.
type objects struct {
	store      driver.Store
	log        *slog.Logger
	channel    string
	life       context.Context
	end        context.CancelFunc
	tokens     chan struct{}
	wg         sync.WaitGroup
	complained atomic.Int64 // when a failure was logged last, in Unix seconds
}

// newObjects is for a receiver of a channel; nil: there is no store, or the channel's messages have other readers.
func newObjects(store driver.Store, log *slog.Logger, from driver.Channel) *objects {
	if store == nil || from.Exchange != "" {
		return nil
	}
	o := &objects{store: store, log: log, channel: from.String(), tokens: make(chan struct{}, deletesAtOnce)}
	o.life, o.end = context.WithCancel(context.Background())
	return o
}

// of adds the object of a message that was deleted, if nothing else points to it.
func (o *objects) of(m *wire.Message, to []driver.Location) []driver.Location {
	if o == nil || m.Pointer == nil || !m.Pointer.Alone {
		return to
	}
	return append(to, m.Pointer.At)
}

// remove deletes objects.
func (o *objects) remove(at []driver.Location) {
	if len(at) == 0 {
		return
	}
	select {
	case o.tokens <- struct{}{}:
		o.wg.Go(func() {
			defer func() { <-o.tokens }()
			o.removeNow(at)
		})
	default:
		o.removeNow(at)
	}
}

func (o *objects) removeNow(at []driver.Location) {
	err := o.store.Delete(o.life, at)
	now := time.Now()
	last := o.complained.Load()
	if err == nil || now.Unix()-last < int64(complainEvery/time.Second) ||
		!o.complained.CompareAndSwap(last, now.Unix()) {
		return
	}
	o.log.Warn("deleting bodies of handled messages failed; the store's lifecycle deletes them later",
		"channel", o.channel, "error", err)
}

// close waits for the deletes in flight, for a short time.
func (o *objects) close() {
	if o == nil {
		return
	}
	defer time.AfterFunc(deleteGrace, o.end).Stop()
	o.wg.Wait()
	o.end()
}
