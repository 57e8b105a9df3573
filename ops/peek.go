package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/internal/walk"
)

const (
	// DefaultPeek is how many messages a Peek returns.
	DefaultPeek = 10
	// receivesLeft is how many receives a queue must leave to its consumers, after which it moves a message to the dead
	// letters by itself, so that a Peek, which counts as a receive, is no danger.
	receivesLeft = 5
	// peekFor is how long a Peek polls.
	peekFor = time.Second
)

// PeekOptions are the options of Peek. The zero value looks at the first messages.
type PeekOptions struct {
	// Most is the largest number of messages that are returned. 0: [DefaultPeek].
	Most int
	// From is where the look begins. Set it on Kafka or the local server. A queue of SQS only has the zero value,
	// because it returns the messages that it chooses.
	From driver.PeekFrom
	// Receive allows to receive messages and to release them, where the service has no other way to look at them.
	// Then it counts as a receive of each message, and hides it for a moment. Set it on SQS.
	Receive bool
}

// ErrMustReceive is the error of a Peek at a queue whose messages can only be received, without
// [PeekOptions].Receive.
var ErrMustReceive = errors.New("SQS can only receive: a look counts as a receive of each message, and hides it for " +
	"about a second: set PeekOptions.Receive (--receive) to do it")

// Peek returns messages of a channel. They stay where they are.
func Peek(ctx context.Context, b driver.Backend, channel string, o *PeekOptions) ([]Entry, error) {
	opts := *cmp.Or(o, &PeekOptions{})
	if opts.Most < 0 {
		return nil, fmt.Errorf("ops: PeekOptions.Most is %d: it cannot be negative; 0 is %d", opts.Most, DefaultPeek)
	}
	opts.Most = cmp.Or(opts.Most, DefaultPeek)
	found, err := Find(ctx, b, channel)
	if err != nil {
		return nil, err
	}
	if found.Channel.Queue == "" {
		return nil, fmt.Errorf("ops: %s is an exchange, which keeps no messages: look at one of its queues", channel)
	}
	entries, err := lookAt(ctx, b, found.Channel, &opts)
	if err != nil {
		return entries, fmt.Errorf("ops: peek at %s: %w", channel, err)
	}
	return entries, nil
}

// lookAt looks at a channel in the way that its service has.
func lookAt(ctx context.Context, b driver.Backend, c driver.Channel, o *PeekOptions) ([]Entry, error) {
	peeked, err := peekAt(ctx, b, c, o.From, o.Most)
	if !errors.Is(err, errors.ErrUnsupported) {
		return entriesOf(peeked), err
	}
	switch {
	case o.From != driver.PeekFrom{}:
		return nil, errors.New("a queue of SQS returns the messages that it chooses: leave out where the look begins")
	case !o.Receive:
		return nil, ErrMustReceive
	}
	return receiveAndRelease(ctx, b, c, o.Most)
}

// peekAt looks at messages without receiving them, or returns an error that wraps errors.ErrUnsupported.
func peekAt(ctx context.Context, b driver.Backend, c driver.Channel, from driver.PeekFrom, most int) (
	[]driver.Peeked, error,
) {
	if peek := driver.OperationsOf(b).Peek; peek != nil {
		return peek(ctx, c, from, most)
	}
	return nil, errors.ErrUnsupported
}

// receiveAndRelease polls for a moment, and releases everything at once.
func receiveAndRelease(ctx context.Context, b driver.Backend, c driver.Channel, most int) (es []Entry, err error) {
	r, err := b.Receiver(ctx, c, driver.ReceiverOptions{
		Window: most, Concurrency: most, Wait: peekFor, Lease: walk.ShortLease,
	})
	if err != nil {
		return nil, err
	}
	lim := r.Limits()
	h := walk.NewHeld(r)
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), walk.ReleasePatience)
		defer cancel()
		err = errors.Join(err, h.Release(ctx), r.Close(closing))
	}()
	if n := lim.MaxReceives; n > 0 && n < receivesLeft {
		return nil, fmt.Errorf("the queue moves a message to its dead letters when it was received %d times, and each look "+
			"counts as a receive: raise maxReceiveCount of its redrive policy, or look at the dead letters", n)
	}
	polling, cancel := context.WithTimeout(ctx, peekFor)
	defer cancel()
	for len(es) < most && polling.Err() == nil {
		ds, err := r.Receive(polling, driver.Ask{Max: min(most-len(es), lim.Batch)}, nil)
		h.Stay(h.Take(ds)...)
		for i := range ds {
			e := Entry{Delivery: ds[i]}
			r.As(ds[i].Handle, &e.Raw) // it stays zero if the backend has none
			es = append(es, e)
			if n := lim.MaxReceives; n > 0 && int(ds[i].Received)+receivesLeft > n {
				return es, fmt.Errorf("message %s was received %d times, and the queue moves it to its dead letters after "+
					"%d: no further look is taken", ds[i].ID, ds[i].Received, n)
			}
		}
		if err != nil && polling.Err() == nil {
			return es, err
		}
		if len(ds) == 0 {
			break
		}
	}
	return es, nil
}

// Group is the messages that died of the same kind of error: of the same kind, type of message, and shape of the
// error's text, in which numbers, ids, addresses, times and quoted values have placeholders.
type Group struct {
	ID          string // see [Entry.Group] and [Selection].Group
	Kind, Type  string
	Shape       string
	Error       string // the newest one
	Count       int
	First, Last time.Time // their deaths; zero: unknown
}

// Groups groups messages by kind, type and shape of the error, the largest group first.
func Groups(es []Entry) []Group { return groups(es, false) }

// ExactGroups groups messages by kind, type and the very text of the error. Its groups have no IDs.
func ExactGroups(es []Entry) []Group { return groups(es, true) }

func groups(es []Entry, exact bool) []Group {
	at := map[cause]int{}
	var all []Group
	for i := range es {
		e := &es[i]
		c := e.cause(exact)
		n, ok := at[c]
		if !ok {
			n = len(all)
			at[c] = n
			g := Group{Kind: c.kind, Type: c.messageType, Shape: c.text, Error: e.Reason()}
			if !exact {
				g.ID = c.id()
			}
			all = append(all, g)
		}
		g := &all[n]
		g.Count++
		if e.Origin == nil {
			continue
		}
		if t := e.Origin.Death.Last; !t.IsZero() && (g.First.IsZero() || t.Before(g.First)) {
			g.First = t
		}
		if t := e.Origin.Death.Last; t.After(g.Last) {
			g.Last, g.Error = t, e.Reason()
		}
	}
	slices.SortStableFunc(all, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
