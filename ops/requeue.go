package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/walk"
)

const (
	// DefaultMaxDeaths is after how many deaths a message stays in the dead letters.
	DefaultMaxDeaths = 3
	// DefaultHold is how many messages that stay are held at once. SQS takes 120,000 in flight.
	DefaultHold = 100_000
)

// RequeueOptions are the options of Requeue. The zero value sends all dead letters back to where they died.
type RequeueOptions struct {
	// To is the channel that gets the messages. Set it to move messages elsewhere, such as to all consumers of an
	// exchange (wishlist_events.*). "": back to where they died.
	To string
	// Alone sends dead letters back so that no other consumer gets them. Set it on Kafka, where other groups read the
	// topic. It is refused where that is impossible.
	Alone bool
	// Select selects messages; the others stay. Set it when the cause of only some failures has been removed.
	Select Selection
	// Edit returns the new body of a message. Set it to repair messages. A body that it returns unchanged is sent byte
	// for byte as it was received; order key, routing key and everything else stay as well.
	Edit func(body []byte) ([]byte, error)
	// MaxDeaths leaves a message where it is if it has died so often. 0: [DefaultMaxDeaths]; negative: no limit. Change
	// it if messages may die more often for good reasons.
	MaxDeaths int
	// RenewExpiry lets the age of the messages count from this send. Set it when expired messages are to be handled
	// after all: without it their consumer finds that they have expired, as before.
	RenewExpiry bool
	// Most is the largest number of messages that are sent. Set it to try a few first. 0: no limit.
	Most int
	// PerSecond bounds how many messages are looked at in a second. Set it to protect the consumers. 0: no limit.
	PerSecond float64
	// LoseOrder allows the way from an ordered channel to one that keeps no order. Set it if order does not matter.
	LoseOrder bool
	// Dry sends nothing. Set it to see the numbers first; Edit is tried. On a queue, messages are received and
	// released, unless all are selected.
	Dry bool
	// Journal names the file that tells after a crash what may be in the destination twice; see [Journal]. "": none.
	// Set it always, except for tests: without it, a message may be there twice without a word.
	Journal string
	// Hold is how many messages that stay are held at once. 0: [DefaultHold]. Lower it on a queue that allows fewer
	// messages in flight.
	Hold int
	// Progress is called after every batch, and at the end; not concurrently. Set it to show how far the run is.
	Progress func(p *RequeueResult)
}

// RequeueResult is what a Requeue has done, or would do.
type RequeueResult struct {
	From, To string
	Address  string // of the destination, in the service's words
	// Shared: consumers of other channels get the messages, too.
	Shared bool
	// Waiting is how many messages there were at the beginning, and InFlight how many others a consumer held;
	// approximate where the service counts approximately.
	Waiting, InFlight int64
	Looked            int64
	Moved             int64 // in a dry run: would be
	Edited            int64 // of those
	// Expired is how many of those moved had expired, by their sender, or as their dead letters say. -1: unknown,
	// because they were not looked at.
	Expired int64
	Stay    RequeueStay
	// Sample is the first message that Edit has changed; nil: none.
	Sample *RequeueSample
	// Doubled are ids of messages that may be in the destination twice.
	Doubled []string
	// Refused are the first messages that could not be sent, with the reasons.
	Refused []error
	Windows int // more than 1: more messages stay than can be held, and the run released them meanwhile
	Took    time.Duration
	// Native: the service moved the messages by itself, since nothing had to be looked at.
	Native *driver.MoveTask
}

// RequeueSample is a message before and after an edit.
type RequeueSample struct {
	ID            string
	Before, After []byte
}

// RequeueStay counts the messages that stay, by the reason.
type RequeueStay struct {
	NotSelected int64
	TooOften    int64 // they have died too often
	Refused     int64 // the destination does not take them, or they cannot be read or edited
	Behind      int64 // a message of their order key before them stays
	TooMany     int64 // Most were sent
	Later       int64 // they died after the run had begun, or were sent by it and have died again
	Unlooked    int64 // not seen, approximately: a consumer held them, or the run ended early
}

// UnseenError is the error of a run that has not seen all messages that there were when it began, or may not have. What
// it has sent is sent; the next run goes on.
type UnseenError struct {
	Channel string
	// Messages is how many were not seen, approximately. 0: perhaps none.
	Messages int64
	// Hold is the option's value if more messages stay than it allows to hold. 0: they do not.
	Hold int
	// After is when to come back: the leases of other consumers have then ended, and their partitions are free.
	After time.Duration
}

func (e *UnseenError) Error() string {
	if e.Hold > 0 {
		return fmt.Sprintf("ops: more than %d messages stay in %s, and no more can be held, so some may not have been "+
			"seen: raise RequeueOptions.Hold (--hold), or select messages so that fewer stay", e.Hold, e.Channel)
	}
	return fmt.Sprintf("ops: about %d messages of %s were not seen, because another consumer holds them, perhaps a run "+
		"that was killed: come back in %v", e.Messages, e.Channel, e.After)
}

// refusedMost is how many refusals are kept with their reasons.
const refusedMost = 20

// Requeue sends the messages of a channel, mostly of dead letters, to another one, as they were received. Nothing is
// deleted before the destination has accepted it. Order per key is kept: where a message stays, the later ones of its
// key stay as well. The run ends at what was there when it began: a message that dies meanwhile stays, so a consumer
// that still fails keeps no run busy. If messages were not seen, the error is an [UnseenError]. When ctx ends, the run
// ends after the current batch; the next run goes on. With an error, the result counts what was done before it.
func Requeue(ctx context.Context, b driver.Backend, channel string, o *RequeueOptions) (*RequeueResult, error) {
	r := &requeue{
		result: RequeueResult{From: channel, Windows: 1}, began: time.Now(), moved: lineage{origins: walk.IDs{}},
	}
	r.o = *cmp.Or(o, &RequeueOptions{})
	if err := r.prepare(ctx, b); err != nil {
		return &r.result, err
	}
	if do := driver.OperationsOf(b); do.Move != nil && r.movesNatively() {
		began, err := r.native(ctx, do)
		if began || driver.ClassOf(err) != driver.Permanent {
			r.result.Took = time.Since(r.began)
			return &r.result, err
		}
		// The service refuses, such as for a queue that is no dead letters for SQS.
		r.result.Native, r.result.Expired = nil, 0
	}
	if r.to == nil {
		if err := r.open(ctx, b); err != nil {
			return &r.result, err
		}
	}
	if r.o.Dry && r.o.all() && r.o.Edit == nil {
		r.result.Moved, r.result.Expired = r.result.Waiting, -1
		return &r.result, r.to.Close(ctx)
	}
	err := r.run(ctx, b)
	return &r.result, err
}

// all reports whether every message is sent, whatever it is.
func (o *RequeueOptions) all() bool {
	return o.Select.IsZero() && o.MaxDeaths < 0 && o.Most == 0
}

// check fills in defaults, and returns an error for options that make no sense.
func (o *RequeueOptions) check() error {
	o.MaxDeaths = cmp.Or(o.MaxDeaths, DefaultMaxDeaths)
	o.Hold = cmp.Or(o.Hold, DefaultHold)
	if o.Most < 0 || o.PerSecond < 0 || o.Hold < 0 {
		return fmt.Errorf("ops: RequeueOptions has Most %d, PerSecond %v and Hold %d: none can be negative", o.Most,
			o.PerSecond, o.Hold)
	}
	if o.Alone && o.To != "" {
		return fmt.Errorf("ops: RequeueOptions has Alone and To %q: Alone is for dead letters that go back to where they "+
			"died; leave one of them out", o.To)
	}
	return o.Select.check()
}

// prepare looks up both channels, and opens the destination.
func (r *requeue) prepare(ctx context.Context, b driver.Backend) error {
	if err := r.o.check(); err != nil {
		return err
	}
	from, err := Find(ctx, b, r.result.From)
	if err != nil {
		return err
	}
	if from.Channel.Queue == "" {
		return fmt.Errorf("ops: %s is an exchange, which keeps no messages: requeue one of its queues", from.Channel)
	}
	r.from = from.Channel
	if inspect := driver.OperationsOf(b).Inspect; inspect != nil {
		depth, err := inspect(ctx, r.from)
		if err != nil {
			return fmt.Errorf("ops: look at %s: %w", r.from, err)
		}
		r.result.Waiting, r.result.InFlight = depth.Waiting, depth.InFlight
	}
	if r.o.To == "" {
		return r.home(ctx, b)
	}
	return r.elsewhere(ctx, b)
}

// home opens the way back for dead letters.
func (r *requeue) home(ctx context.Context, b driver.Backend) error {
	if !r.from.DeadLetter {
		return fmt.Errorf("ops: %s is not dead letters, so its messages have no channel to go back to: name one with "+
			"RequeueOptions.To (--to)", r.from)
	}
	back := driver.OperationsOf(b).Return
	if back == nil {
		return errors.New("ops: this backend cannot send dead letters back: name a destination with RequeueOptions.To (--to)")
	}
	h, err := back(ctx, r.from, r.o.Alone)
	if err != nil {
		return fmt.Errorf("ops: open the way back of %s: %w", r.from, err)
	}
	r.dest = r.from
	r.dest.DeadLetter = false
	r.to, r.result.To, r.result.Address, r.result.Shared = h.Forwarder, r.dest.String(), h.Address, h.Shared
	return nil
}

// elsewhere looks up the destination that the options name.
func (r *requeue) elsewhere(ctx context.Context, b driver.Backend) error {
	to, err := Find(ctx, b, r.o.To)
	if err != nil {
		return err
	}
	r.dest = to.Channel
	r.result.To, r.result.Address, r.result.Shared = to.Channel.String(), to.Address, to.Channel.Queue == ""
	switch {
	case r.dest == r.from:
		return fmt.Errorf("ops: source and destination are both %s: name another destination", r.from)
	case r.from.Ordered && !r.dest.Ordered && !r.o.LoseOrder:
		return fmt.Errorf("ops: %s is ordered and %s is not, so the order would be lost: set RequeueOptions.LoseOrder "+
			"(--lose-order) if it does not matter", r.from, r.dest)
	}
	return nil
}

// open opens the destination for messages as they were received.
func (r *requeue) open(ctx context.Context, b driver.Backend) error {
	s, err := b.Sender(ctx, r.dest)
	if err != nil {
		return fmt.Errorf("ops: open %s: %w", r.dest, err)
	}
	f, ok := s.(driver.Forwarder)
	if !ok {
		return errors.Join(errors.New("ops: this backend cannot send messages on as they were received: its senders are "+
			"no driver.Forwarders"), s.Close(ctx))
	}
	r.to = f
	return nil
}

// movesNatively reports whether the service can move the messages by itself: all of them, unchanged, from the dead
// letters of a standard queue to one queue.
func (r *requeue) movesNatively() bool {
	return r.to == nil && r.o.all() && !r.o.Dry && r.o.Edit == nil && !r.o.RenewExpiry && r.from.DeadLetter &&
		!r.from.Ordered && !r.dest.Ordered && r.dest.Queue != "" && !r.dest.DeadLetter
}

// moveLook is the time between two looks at a task of the service.
const moveLook = 2 * time.Second

// native lets the service move the messages, and waits for it. When ctx ends, the task is cancelled. began is false if
// the service did not take the task.
func (r *requeue) native(ctx context.Context, do driver.Operations) (began bool, err error) {
	if err := do.Move(ctx, r.from, r.dest, int(r.o.PerSecond)); err != nil {
		return false, fmt.Errorf("ops: let the service move %s: %w", r.from, err)
	}
	r.result.Native, r.result.Expired = &driver.MoveTask{}, -1
	for tick := time.NewTicker(moveLook); ; {
		tasks, err := do.Moves(context.WithoutCancel(ctx), r.from)
		if err != nil {
			return true, fmt.Errorf("ops: look at the task that moves %s: %w", r.from, err)
		}
		if len(tasks) > 0 {
			t := tasks[0]
			*r.result.Native, r.result.Moved, r.result.Looked = t, t.Moved, t.Moved
			r.result.Took = time.Since(r.began)
			r.progress()
			switch {
			case t.Failure != "":
				return true, fmt.Errorf("ops: the service moved %d of %d messages of %s: %s", t.Moved, t.Total, r.from,
					t.Failure)
			case !t.Running:
				return true, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			if t := r.result.Native; t.Running {
				return true, errors.Join(context.Cause(ctx), do.CancelMove(context.WithoutCancel(ctx), t.ID))
			}
			return true, context.Cause(ctx)
		}
	}
}
