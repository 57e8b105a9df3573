package memdriver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Options of a backend. The zero value is usable.
type Options struct {
	// MaxBytes is the size of the largest message, including its keys and headers. Change it to test a program
	// against another limit. 0: 1 MiB, as on SQS.
	MaxBytes int
	// Batch is the most messages in one call of Send, Receive or Settle. Change it to test a program against the batch
	// size of another service. 0: 100.
	Batch int
}

// Backend is a driver.Backend, driver.Provisioner and driver.Operator in memory.
type Backend struct {
	o Options

	// mu guards all following fields and every queue. It is one lock, because a publish and a reject touch several
	// queues.
	mu        sync.Mutex
	closed    bool
	sent      uint64                       // messages sent so far; the next one's id derives from it
	exchanges map[driver.Channel]*exchange // by addressOf
	queues    map[driver.Channel]*queue    // by nameOf
}

// exchange is the target of a send. A one-to-one channel, and each dead-letter channel, is an exchange of one queue.
type exchange struct {
	ordered  bool
	direct   bool // the way to one queue of another exchange; its filter does not count
	queues   []*queue
	gone     bool     // it was removed
	accepted accepted // used only if ordered
	// cancellable are the copies of each message that can be cancelled, by its id. They stay, for later answers.
	cancellable map[string][]copied
}

// copied is a message in one of the queues of an exchange.
type copied struct {
	in *queue
	*message
}

// Open returns a backend without channels; nil options are the defaults.
func Open(o *Options) (*Backend, error) {
	b := &Backend{exchanges: map[driver.Channel]*exchange{}, queues: map[driver.Channel]*queue{}}
	b.o = *cmp.Or(o, &Options{})
	if b.o.MaxBytes < 0 || b.o.Batch < 0 {
		return nil, fmt.Errorf("memdriver: Options.MaxBytes is %d and Options.Batch is %d: neither can be negative; "+
			"0 is the default", b.o.MaxBytes, b.o.Batch)
	}
	b.o.MaxBytes = cmp.Or(b.o.MaxBytes, 1<<20)
	b.o.Batch = cmp.Or(b.o.Batch, 100)
	return b, nil
}

// Sender opens a sender to a channel. One to a queue of an exchange sends to that queue alone.
func (b *Backend) Sender(_ context.Context, to driver.Channel) (driver.Sender, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, q, err := b.find(to)
	if err != nil {
		return nil, err
	}
	if to.Exchange != "" && q != nil && !to.DeadLetter {
		if q.direct == nil {
			q.direct = &exchange{ordered: e.ordered, direct: true, queues: []*queue{q}}
		}
		e = q.direct
	}
	return &sender{b: b, to: to, e: e}, nil
}

// Receiver opens a receiver of a channel.
func (b *Backend) Receiver(
	_ context.Context, from driver.Channel, o driver.ReceiverOptions,
) (driver.Receiver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, q, err := b.find(from)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, permanent("channel %s: an exchange is only sent to: receive from one of its queues", from)
	}
	return newReceiver(b, q, o), nil
}

// Close ends the backend and drops all its messages.
func (b *Backend) Close(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.exchanges, b.queues = nil, nil
	return nil
}

// Ensure creates what a channel needs, or reports what is missing or differs.
func (b *Backend) Ensure(_ context.Context, s driver.ChannelSpec) error {
	if s.Mode == driver.Never {
		return nil
	}
	if err := possible(&s); err != nil {
		return err
	}
	s.Filter, s.Tags = clone(s.Filter), nil // the queue retains the specification; memory has no tags
	b.mu.Lock()
	defer b.mu.Unlock()
	e, q, err := b.find(s.Channel)
	if driver.ClassOf(err) == driver.NotFound && s.Mode.Creates() && !s.Channel.DeadLetter {
		err = nil // the queue is created below
	}
	switch {
	case err != nil || s.Channel.DeadLetter:
		return err
	case s.Mode == driver.Verify && q != nil && s.Owner:
		return q.verify(&s)
	case s.Mode == driver.Verify:
		return nil
	}
	if e == nil {
		e = &exchange{ordered: s.Channel.Ordered, accepted: accepted{perKey: s.HighThroughput}}
		b.exchanges[addressOf(s.Channel)] = e
	}
	if q == nil && s.Channel.Queue != "" {
		q = b.addQueue(e, s)
	}
	if q == nil || !s.Owner {
		return nil
	}
	q.spec, e.accepted.perKey = s, s.HighThroughput
	if q.dead == nil && !s.NoDeadLetters {
		q.dead = b.deadLetters(s.Channel)
	}
	return nil
}

// possible returns an error for a specification that memory cannot satisfy.
func possible(s *driver.ChannelSpec) error {
	switch c := s.Channel; {
	case s.Encryption != "":
		return permanent("channel %s: memory is not encrypted: leave Encryption %q out", c, s.Encryption)
	case s.Retention != 0, s.DeadRetention != 0:
		return permanent("channel %s: memory keeps a message until it is settled: leave Retention %v and "+
			"DeadRetention %v out", c, s.Retention, s.DeadRetention)
	case len(s.Native) > 0:
		return permanent("channel %s: memory has no attributes of a service: leave Native %v out", c, s.Native)
	case !s.Filter.IsZero() && (c.Exchange == "" || c.DeadLetter):
		return permanent("channel %s: it can have no filter: filters select what a queue gets of an exchange", c)
	}
	return nil
}

func (b *Backend) addQueue(e *exchange, s driver.ChannelSpec) *queue {
	q := &queue{spec: s, byKey: map[string]*lane{}}
	b.queues[nameOf(s.Channel)] = q
	e.queues = append(e.queues, q)
	return q
}

// deadLetters returns a new queue for the dead letters of a channel. It has none of the channel's own attributes.
func (b *Backend) deadLetters(of driver.Channel) *queue {
	of.DeadLetter = true
	e := &exchange{ordered: of.Ordered}
	b.exchanges[addressOf(of)] = e
	return b.addQueue(e, driver.ChannelSpec{Channel: of, NoDeadLetters: true})
}

// Find returns dead letters with the Ordered that they have.
func (b *Backend) Find(_ context.Context, dead driver.Channel) (driver.Channel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.queues[nameOf(dead)]; q != nil {
		return q.spec.Channel, nil
	}
	_, _, err := b.find(dead)
	return dead, err
}

// Catalog lists all channels. A one-to-one channel and its exchange are one.
func (b *Backend) Catalog(context.Context) ([]driver.ChannelInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []driver.ChannelInfo
	add := func(c driver.Channel, paused bool) {
		all = append(all, driver.ChannelInfo{Channel: c, Address: addressIn(c), Paused: paused})
	}
	for _, q := range b.queues {
		add(q.spec.Channel, q.paused)
	}
	for at, e := range b.exchanges {
		if at.Exchange != "" && !at.DeadLetter {
			add(driver.Channel{Exchange: at.Exchange, Ordered: e.ordered}, false)
		}
	}
	slices.SortFunc(all, func(x, y driver.ChannelInfo) int { return cmp.Compare(x.Address, y.Address) })
	return all, nil
}

// addressIn is the address of a channel in the catalog.
func addressIn(c driver.Channel) string { return "memory/" + c.String() }

// Inspect counts the messages of a channel. It visits every message.
func (b *Backend) Inspect(_ context.Context, c driver.Channel) (driver.Depth, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, q, err := b.find(c)
	if err != nil {
		return driver.Depth{}, err
	}
	if q == nil {
		return driver.Depth{}, permanent("channel %s: an exchange holds nothing: inspect its queues", c)
	}
	return q.depth(time.Now()), nil
}

// find returns the exchange and the queue of a channel; the queue is nil if c means all queues of an exchange. With an
// error of class NotFound it returns those of the two that exist. The caller holds b.mu.
func (b *Backend) find(c driver.Channel) (*exchange, *queue, error) {
	if b.closed {
		return nil, nil, fmt.Errorf("memdriver: the backend is %w", driver.ErrClosed)
	}
	if c.Exchange == "" && c.Queue == "" {
		return nil, nil, permanent("the channel has no name: set Queue, Exchange, or both")
	}
	e, q := b.exchanges[addressOf(c)], b.queues[nameOf(c)]
	otherKind := driver.Channel{Exchange: c.Queue}
	if c.Exchange != "" {
		otherKind = driver.Channel{Queue: c.Exchange}
	}
	switch {
	case b.exchanges[otherKind] != nil:
		return nil, nil, permanent("channel %s: the name is in use by channel %s, which is of the other kind: "+
			"choose another name", c, otherKind)
	case e != nil && e.ordered != c.Ordered:
		return nil, nil, permanent("channel %s: it exists with Ordered %v, and is asked for with Ordered %v: "+
			"all of its producers and consumers must agree", c, e.ordered, c.Ordered)
	case e == nil || q == nil && c.Queue != "":
		return e, q, notFound("channel %s does not exist: provision it, or start its consumer", c)
	}
	return e, q, nil
}

// nameOf returns the name of a channel without its properties, as a map key.
func nameOf(c driver.Channel) driver.Channel {
	c.Ordered = false
	return c
}

// addressOf returns the name of the exchange that a channel's messages are sent to.
func addressOf(c driver.Channel) driver.Channel {
	if c.Exchange != "" && !c.DeadLetter {
		c.Queue = ""
	}
	return nameOf(c)
}

// notFound returns an error for a channel that does not exist.
func notFound(format string, args ...any) error {
	return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf(format, args...)}
}

// permanent returns an error that repeating the call cannot help.
func permanent(format string, args ...any) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(format, args...)}
}

// Operations returns what an operator can do with the channels.
func (b *Backend) Operations() driver.Operations {
	return driver.Operations{
		Catalog: b.Catalog, Inspect: b.Inspect, Peek: b.Peek, Return: b.Return, Purge: b.Purge, Remove: b.Remove,
		Pause: b.Pause, Resume: b.Resume,
		Clock: func(_ context.Context, to driver.Channel) (time.Time, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			_, _, err := b.find(to)
			return time.Now(), err
		},
		Cancel: func(_ context.Context, to driver.Channel, id string) (bool, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			e, q, err := b.find(to)
			if err != nil {
				return false, err
			}
			if to.Exchange != "" && q != nil && !to.DeadLetter && q.direct != nil {
				e = q.direct
			}
			return e.cancel(to, id)
		},
	}
}
