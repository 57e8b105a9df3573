package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/walk"
)

// PurgeOptions are the options of Purge.
type PurgeOptions struct {
	// Dry only counts. Set it to see the numbers first.
	Dry bool
	// Shared purges a channel also if other consumers lose the messages, too, as all groups of a topic of Kafka do. Set
	// it if none of them needs the messages.
	Shared bool
}

// PurgeResult is what a Purge deletes, or would delete.
type PurgeResult struct {
	Channel driver.Channel
	driver.Purged
}

// Purge deletes all messages of a channel or of dead letters, also those that consumers hold. Bodies in a store stay.
// The messages are gone: requeue dead letters instead if they may be needed.
func Purge(ctx context.Context, b driver.Backend, channel string, o *PurgeOptions) (r PurgeResult, err error) {
	opts := *cmp.Or(o, &PurgeOptions{})
	purge := driver.OperationsOf(b).Purge
	if purge == nil {
		return r, errors.New("ops: this backend cannot purge channels")
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return r, err
	}
	r.Channel = found.Channel
	if r.Purged, err = purge(ctx, r.Channel, true); err != nil {
		return r, fmt.Errorf("ops: purge: %w", err)
	}
	switch {
	case opts.Dry:
		return r, nil
	case len(r.Others) > 0 && !opts.Shared:
		return r, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("ops: purge: the messages of channel %s are "+
			"also those of %s: set PurgeOptions.Shared (--shared) to delete them for all, or rewind the channel to its end",
			channel, strings.Join(r.Others, ", "))}
	}
	if r.Purged, err = purge(ctx, r.Channel, false); err != nil {
		return r, fmt.Errorf("ops: purge: %w", err)
	}
	return r, nil
}

// DiscardOptions are the options of Discard. Select is required.
type DiscardOptions struct {
	// Select selects the messages that are deleted; the others stay. Set it always: [Purge] deletes all.
	Select Selection
	// Most is the largest number of messages that are deleted. Set it to try a few first. 0: no limit.
	Most int
	// PerSecond bounds how many messages are looked at in a second. Set it to spare the service. 0: no limit.
	PerSecond float64
	// Dry deletes nothing. Set it to see the numbers first; messages are received and released.
	Dry bool
	// Hold is how many messages that stay are held at once. 0: [DefaultHold]. Lower it on a queue that allows fewer
	// messages in flight.
	Hold int
	// Progress is called after every batch, and at the end; not concurrently. Set it to show how far the run is.
	Progress func(p *DiscardResult)
}

// DiscardResult is what a Discard has deleted, or would delete.
type DiscardResult struct {
	Channel driver.Channel
	// Waiting is how many messages there were at the beginning; approximate where the service counts approximately.
	Waiting   int64
	Looked    int64
	Discarded int64 // in a dry run: would be
	Unread    int64 // messages that stay, because their bodies could not be read
	Unlooked  int64 // not seen, approximately: a consumer held them, or the run ended early
	Took      time.Duration
}

// Discard deletes the selected messages of a channel, mostly of dead letters, and their bodies in a store. The messages
// are gone: export them first if they may be needed. The run ends at what was there when it began. If messages were
// not seen, the error is an [UnseenError]. When ctx ends, the run ends after the current batch.
func Discard(ctx context.Context, b driver.Backend, channel string, o *DiscardOptions) (*DiscardResult, error) {
	d := &discarding{began: time.Now()}
	d.o = *cmp.Or(o, &DiscardOptions{})
	d.o.Hold = cmp.Or(d.o.Hold, DefaultHold)
	switch {
	case d.o.Select.IsZero():
		return &d.result, errors.New("ops: DiscardOptions.Select is empty, which would delete all messages: select some, " +
			"or purge the channel")
	case d.o.Most < 0 || d.o.PerSecond < 0 || d.o.Hold < 0:
		return &d.result, fmt.Errorf("ops: DiscardOptions has Most %d, PerSecond %v and Hold %d: none can be negative",
			d.o.Most, d.o.PerSecond, d.o.Hold)
	}
	if err := d.o.Select.check(); err != nil {
		return &d.result, err
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return &d.result, err
	}
	if d.result.Channel = found.Channel; found.Channel.Queue == "" {
		return &d.result, fmt.Errorf("ops: %s is an exchange, which keeps no messages: discard those of its queues", channel)
	}
	if d.walk, err = walk.Open(ctx, b, found.Channel, d.o.Hold); err != nil {
		return &d.result, err
	}
	return &d.result, d.run(ctx)
}

// discarding is one run of Discard.
type discarding struct {
	o     DiscardOptions
	began time.Time
	walk  *walk.Walk

	mu     sync.Mutex
	chosen int64
	result DiscardResult
}

func (d *discarding) run(ctx context.Context) error {
	d.result.Waiting = d.walk.Waiting()
	err := d.walk.Run(ctx, walk.Plan{
		PerSecond: d.o.PerSecond, Visit: d.visit, Again: d.finish, Enough: d.enough,
		Late: func(one *driver.Delivery) bool { return one.SentAt.After(d.began) },
	})
	unseen, inFlight, counting := d.walk.Unseen(context.WithoutCancel(ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count()
	d.result.Unlooked = unseen
	d.progress()
	switch {
	case err != nil || d.result.Discarded >= int64(d.o.Most) && d.o.Most > 0:
		return err
	case counting != nil:
		return counting
	case inFlight > 0:
		return &UnseenError{Channel: d.result.Channel.String(), Messages: inFlight, After: walk.LeaseFor(inFlight)}
	}
	return nil
}

// visit deletes the selected messages, and returns those that stay.
func (d *discarding) visit(ctx context.Context, ds []driver.Delivery) (stay []driver.Delivery, err error) {
	var chosen []driver.Delivery
	for i := range ds {
		if d.walk.Over() {
			d.walk.Leave(len(ds) - i)
			stay = append(stay, ds[i:]...)
			break
		}
		selected, unread := d.o.Select.Selects(ctx, &Entry{Delivery: ds[i]}, d.began)
		if d.chooses(selected, unread) && !d.o.Dry {
			chosen = append(chosen, ds[i])
		} else {
			stay = append(stay, ds[i])
		}
	}
	err = d.finish(ctx, chosen)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && !d.o.Dry {
		d.result.Discarded += int64(len(chosen))
	}
	d.count()
	d.progress()
	return stay, err
}

// chooses counts a message.
func (d *discarding) chooses(selected bool, unread error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case unread != nil:
		d.result.Unread++
		return false
	case !selected || d.o.Most > 0 && d.chosen >= int64(d.o.Most):
		return false
	}
	if d.chosen++; d.o.Dry {
		d.result.Discarded++
	}
	return true
}

// finish deletes messages.
func (d *discarding) finish(ctx context.Context, chosen []driver.Delivery) error {
	return d.walk.Finish(ctx, chosen, driver.Settlement{Action: driver.Done}, func(_ []string, err error) error {
		if err != nil {
			return fmt.Errorf("ops: delete messages of %s: %w", d.result.Channel, err)
		}
		return nil
	})
}

// enough reports whether as many messages as wanted were deleted.
func (d *discarding) enough() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.o.Most > 0 && d.chosen >= int64(d.o.Most)
}

// count updates what the walk counts. The caller holds the lock.
func (d *discarding) count() {
	d.result.Looked, d.result.Took = d.walk.Counts().Looked, time.Since(d.began)
}

// progress tells how far the run is. The caller holds the lock.
func (d *discarding) progress() {
	if d.o.Progress != nil {
		d.o.Progress(&d.result)
	}
}
