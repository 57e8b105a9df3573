package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// releasePause is how long a record waits that was given back untouched, so that nothing spins.
const releasePause = time.Second

// Settle finishes what is done in memory: a later commit tells the broker. What is retried or rejected is published first, and
// finished then. A release leaves the record unfinished: it comes again to whom the partition goes to.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	errs := map[int]error{}
	var retry, reject []int
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return fmt.Errorf("the receiver of %s is %w", r.from, driver.ErrClosed)
	}
	for i := range batch {
		m := batch[i].Handle.Ref.(*message)
		if m.epoch.gone || m.record == nil || m.use != batch[i].Handle.Seq {
			continue // forgotten, or settled before
		}
		switch batch[i].Action {
		case driver.Done:
			r.done(m)
		case driver.Release:
			if r.tiersOnly && m.epoch.wants() { // who receives from a share group gives back what it does not handle now
				r.handed(m)
				m.back, m.due = true, time.Now().Add(releasePause)
				r.line.add(m, m.due)
				r.nudge()
			}
		case driver.Retry:
			m.shown = true
			retry = append(retry, i)
			r.park(m, time.Now().Add(batch[i].After))
		case driver.Reject:
			m.shown = true
			reject = append(reject, i)
		default:
			errs[i] = failure.Permanent("settle: %s is no action", batch[i].Action)
		}
	}
	r.mu.Unlock()
	if len(retry) > 0 {
		r.postpone(ctx, batch, retry, errs)
	}
	if len(reject) > 0 {
		r.bury(ctx, batch, reject, errs)
	}
	return failure.Batch(errs)
}

// done finishes a message. The caller holds r.mu.
func (r *receiver) done(m *message) {
	if m.record == nil || m.epoch.gone {
		return
	}
	r.handed(m)
	r.unpark(m)
	r.end(m)
}

// end is the end of a message, here at least. The caller holds r.mu.
func (r *receiver) end(m *message) {
	m.epoch.tracker.Finish(m.seq)
	if !m.shown {
		r.forget(m.record)
	}
	m.record = nil
	r.freed(m.epoch)
}

// postpone lets records wait for their retry.
func (r *receiver) postpone(ctx context.Context, batch []driver.Settlement, which []int, errs map[int]error) {
	if r.retry == nil {
		for _, i := range which {
			errs[i] = failure.Permanent("channel %s keeps no retries: its Retries are Block, so whoever handles holds them", r.from)
		}
		return
	}
	now := time.Now()
	later := make([]Later, len(which))
	for k, i := range which {
		m := batch[i].Handle.Ref.(*message)
		later[k] = Later{Record: m.record, Due: now.Add(batch[i].After), Attempt: batch[i].Attempt}
	}
	answers := r.retry.Put(ctx, later)
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, i := range which {
		m := batch[i].Handle.Ref.(*message)
		switch {
		case answers[k] != nil:
			errs[i] = answers[k]
		case r.retry.Durable():
			r.moved(m)
		case !m.epoch.gone && m.record != nil:
			r.handed(m)
			m.back, m.due, m.attempt = true, later[k].Due, later[k].Attempt
			r.line.add(m, m.due)
			r.nudge()
		}
	}
}

// bury copies records to the dead letters.
func (r *receiver) bury(ctx context.Context, batch []driver.Settlement, which []int, errs map[int]error) {
	if r.dead == nil {
		for _, i := range which {
			errs[i] = failure.Permanent("channel %s has no dead letters of its own", r.from)
		}
		return
	}
	var open []int
	var rejected []Rejected
	r.mu.Lock()
	for _, i := range which {
		m := batch[i].Handle.Ref.(*message)
		if m.buried {
			continue
		}
		one := Rejected{Record: r.original(m), Group: r.speaker, Attempt: batch[i].Attempt}
		if d := batch[i].Death; d != nil {
			one.Death = *d
		}
		open, rejected = append(open, i), append(rejected, one)
	}
	r.mu.Unlock()
	if len(open) == 0 {
		return
	}
	answers := r.dead.Put(ctx, rejected)
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, i := range open {
		m := batch[i].Handle.Ref.(*message)
		if answers[k] != nil {
			errs[i] = answers[k]
			continue
		}
		m.buried = true
		if r.dead.Durable() {
			r.done(m)
		} else if m.record != nil {
			r.handed(m)
			r.freed(m.epoch)
		}
	}
}
