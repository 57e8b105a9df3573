package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/ops/internal/calling"
)

const (
	// tagTemporary is the tag of a queue that is deleted when the command that made it ends. A sweep deletes it, also
	// with messages, if that did not happen.
	tagTemporary = "godwit-temporary"
	// tailKeeps is how long such a queue keeps a message, so that one that was left behind has few.
	tailKeeps = 5 * time.Minute
	// tailLease is how long its messages are leased, and tailWait how long a poll waits.
	tailLease = 30 * time.Second
	tailWait  = 20 * time.Second
	// tailEnds is how long the deletion of the queue may take.
	tailEnds = 20 * time.Second
	// tailLooks is the pause between two looks at a queue, and tailLooked how many of its last messages a look returns.
	tailLooks  = 200 * time.Millisecond
	tailLooked = 1000
)

// TailOptions are the options of Tail. The zero value shows what comes from now on.
type TailOptions struct {
	// From is where it begins, by Time or ID. Set it to see earlier messages too, where the service keeps them. With an
	// ID of Kafka, only its partition is read.
	From driver.PeekFrom
	// Filter selects messages of an exchange by their routing keys. Set it on SNS, so that others are not sent at all;
	// elsewhere it has no effect.
	Filter driver.Filter
	// Begun is called when the position is fixed, with words that say how the messages are followed. Set it to tell
	// people when they can send.
	Begun func(how string)
}

// ErrCannotTail is the error of a Tail of a queue whose messages can only be received.
var ErrCannotTail = errors.New("SQS gives each message to one receiver, so a follower of a queue would take its " +
	"messages away from the consumers: look at what waits with godwit peek, or follow its exchange")

// LeftError is a part of the error of a Tail that could not delete its temporary queue.
type LeftError struct {
	Channel string
	Err     error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("the temporary queue %s is left: delete it with godwit rm --messages --yes, or let a sweep do it: %v",
		e.Channel, e.Err)
}

// Unwrap returns why the queue could not be deleted.
func (e *LeftError) Unwrap() error { return e.Err }

// Tail calls each with the messages of a channel as they come, until ctx ends or each returns an error, which it
// returns. It takes nothing away from consumers: on Kafka it reads the topic outside of all groups; of an exchange of
// SNS it gets copies in a temporary queue, which is deleted at the end; a queue on the local server it looks at five
// times a second, so a message that is handled between two looks is not shown. A queue of SQS is refused with
// [ErrCannotTail].
func Tail(ctx context.Context, b driver.Backend, channel string, o *TailOptions, each func([]Entry) error) error {
	opts := *cmp.Or(o, &TailOptions{})
	if opts.Begun == nil {
		opts.Begun = func(string) {}
	}
	found, err := Find(ctx, b, channel)
	if err != nil {
		return err
	}
	t := tail{b: b, found: found, o: opts, each: each}
	switch do := driver.OperationsOf(b); {
	case do.Follow != nil:
		err = do.Follow(ctx, found.Channel, opts.From, t.followed)
	case found.Channel.Queue == "":
		err = t.copies(ctx)
	case do.Peek != nil:
		err = t.looks(ctx, do)
	default:
		err = ErrCannotTail
	}
	if err != nil {
		return fmt.Errorf("ops: tail %s: %w", channel, err)
	}
	return nil
}

// tail is one run of Tail.
type tail struct {
	b     driver.Backend
	found driver.ChannelInfo
	o     TailOptions
	each  func([]Entry) error
	begun bool
}

// followed passes on what a backend follows.
func (t *tail) followed(some []driver.Peeked) error {
	if !t.begun {
		t.begun = true
		t.o.Begun("it is read outside of all consumer groups")
	}
	if len(some) == 0 {
		return nil
	}
	return t.each(entriesOf(some))
}

func entriesOf(some []driver.Peeked) []Entry {
	all := make([]Entry, len(some))
	for i := range some {
		all[i] = Entry{Delivery: some[i].Delivery, Raw: some[i].Raw, Cancellable: some[i].Cancellable}
	}
	return all
}

// copies receives the messages of an exchange from a temporary queue.
func (t *tail) copies(ctx context.Context) (err error) {
	p, ok := t.b.(driver.Provisioner)
	do := driver.OperationsOf(t.b)
	switch {
	case t.o.From != driver.PeekFrom{}:
		return errors.New("an exchange keeps no messages, so only those are shown that come from now on: leave out where " +
			"it begins")
	case !ok || do.Remove == nil:
		return errors.New("this backend cannot make and remove a temporary queue")
	}
	ch := driver.Channel{Exchange: t.found.Channel.Exchange, Queue: temporaryName(), Ordered: t.found.Channel.Ordered}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailEnds)
		defer cancel()
		if _, left := do.Remove(ending, ch, false); left != nil && driver.ClassOf(left) != driver.NotFound {
			err = errors.Join(err, &LeftError{Channel: ch.String(), Err: left})
		}
	}()
	if err := p.Ensure(ctx, driver.ChannelSpec{
		Channel: ch, Owner: true, Filter: t.o.Filter, Retention: tailKeeps, Lease: tailLease, NoDeadLetters: true,
		Tags: t.temporaryTags(),
	}); err != nil {
		return fmt.Errorf("make the temporary queue %s: %w", ch, err)
	}
	r, err := t.b.Receiver(ctx, ch, driver.ReceiverOptions{
		Window: 10 * calling.AtOnce, Concurrency: calling.AtOnce, Wait: tailWait, Lease: tailLease,
	})
	if err != nil {
		return err
	}
	closed := func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tailEnds)
		defer cancel()
		return r.Close(ending)
	}
	// An open poll of SQS outlives ctx, so that it loses nothing; here nothing is lost, and Close ends the poll.
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = closed() // the queue goes, whatever is left of it
	})
	defer func() {
		if !stop() {
			<-interrupted
			return
		}
		err = errors.Join(err, closed())
	}()
	t.o.Begun("copies come to the temporary queue " + ch.String() + ", which is deleted at the end")
	return t.receive(ctx, r)
}

// receive passes on messages, and settles them.
func (t *tail) receive(ctx context.Context, r driver.Receiver) error {
	for try, failing := 1, (time.Time{}); ; {
		ds, err := r.Receive(ctx, driver.Ask{Max: r.Limits().Batch}, nil)
		if len(ds) > 0 {
			try, failing = 1, time.Time{}
			if err := t.pass(ctx, r, ds); err != nil {
				return err
			}
			continue
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			continue
		case failing.IsZero():
			failing = time.Now()
		}
		if !driver.ClassOf(err).Passing() || time.Since(failing) > calling.Patience {
			return err
		}
		_ = backoff.Sleep(ctx, calling.Pauses.Jittered(try)) // the next receive looks at ctx
		try++
	}
}

// pass passes messages on, and settles them. Their bodies stay, because other queues have the same.
func (t *tail) pass(ctx context.Context, r driver.Receiver, ds []driver.Delivery) error {
	entries, batch := make([]Entry, len(ds)), make([]driver.Settlement, len(ds))
	for i := range ds {
		entries[i].Delivery = ds[i]
		r.As(ds[i].Handle, &entries[i].Raw) // it stays zero if the backend has none
		batch[i] = driver.Settlement{Handle: ds[i].Handle, Action: driver.Done, KeepBody: true}
	}
	err := errors.Join(t.each(entries), calling.Settle(ctx, r, batch))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// temporaryName is a name that no other queue has.
func temporaryName() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	return "tail-" + hex.EncodeToString(id[:])
}

// temporaryTags give the queue to the owner of the exchange, whose sweep finds it.
func (t *tail) temporaryTags() map[string]string {
	tags := map[string]string{tagTemporary: "tail"}
	for _, name := range []string{tagOwner, tagEnvironment} {
		if value := t.found.Tags[name]; value != "" {
			tags[name] = value
		}
	}
	return tags
}

// looks looks at a queue again and again.
func (t *tail) looks(ctx context.Context, do driver.Operations) error {
	tick := time.NewTicker(tailLooks)
	defer tick.Stop()
	from, seen := t.o.From, map[string]bool{}
	for first := true; ; first = false {
		some, err := do.Peek(ctx, t.found.Channel, from, tailLooked)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errors.ErrUnsupported):
			return ErrCannotTail
		case err != nil && (first || !driver.ClassOf(err).Passing()):
			return err
		}
		fresh, there := []driver.Peeked{}, map[string]bool{}
		for i := range some {
			id := some[i].Delivery.ID
			if there[id] = true; !seen[id] {
				fresh = append(fresh, some[i])
			}
		}
		if err == nil {
			seen = there
		}
		if first && t.o.From == (driver.PeekFrom{}) {
			fresh = nil // they were there before
		}
		if first {
			t.o.Begun("it is looked at five times a second: messages that are handled in between are not shown")
			from = driver.PeekFrom{Last: true}
		}
		if len(fresh) > 0 {
			if err := t.each(entriesOf(fresh)); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
