package godwit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// Producer sends to one channel.
type Producer struct {
	name    string // the channel's name
	o       ProducerOptions
	spec    driver.ChannelSpec
	backend Backend
	hooks   sendHooks
	calls   calls.Log
	outbox  outbox
	// cancel is the backend's Operations.Cancel; nil: it cannot.
	cancel func(ctx context.Context, to driver.Channel, id string) (cancelled bool, err error)
	// clock is the backend's Operations.Clock; nil: it has no schedules.
	clock     func(ctx context.Context, to driver.Channel) (time.Time, error)
	schedules schedules

	sender driver.Sender
	apart  int64         // larger bodies go to a store; 0: there is none
	spare  sync.Pool     // of *driver.Message
	buffer chan struct{} // one element for each open Result

	mu     sync.Mutex
	closed bool
}

// NewProducer checks the options, creates what is missing of the channel, and returns a producer that is ready to send.
func NewProducer(ctx context.Context, backend Backend, channel string, o *ProducerOptions) (*Producer, error) {
	p := &Producer{name: channel, backend: backend}
	p.o = *cmp.Or(o, &ProducerOptions{})
	if err := errors.Join(checkContext(ctx), checkBackend(backend)); err != nil {
		return nil, err
	}
	ch, err := p.o.channel(channel)
	if err != nil {
		return nil, err
	}
	if ch.DeadLetter {
		if ch, err = deadLetters(ctx, backend, channel, "ProducerOptions.Ordered", ch); err != nil {
			return nil, err
		}
	}
	p.spec = p.o.spec(ch)
	p.hooks.init(&p.o.Hooks)
	call1(p.hooks.fault, p.o.Hooks.Created, p)
	if err := provision(ctx, backend, channel, p.spec); err != nil {
		return nil, err
	}
	if p.sender, err = backend.Sender(ctx, ch); err != nil {
		return nil, p.error("send", err)
	}
	if err := p.o.fit(p.sender.Limits()); err != nil {
		return nil, errors.Join(err, p.sender.Close(ctx))
	}
	p.apart = p.sender.Limits().Apart
	do := driver.OperationsOf(backend)
	p.cancel, p.clock = do.Cancel, do.Clock
	p.buffer = make(chan struct{}, p.o.Buffer)
	p.outbox = outbox{
		name: channel, retryFor: p.o.RetryFor, sender: p.sender, create: p.creator(), hooks: &p.hooks, calls: &p.calls,
		log: guardedLogger(p.o.Logger).With("channel", channel),
	}
	p.outbox.start(&p.o, ch.Ordered)
	return p, nil
}

// creator returns the function that creates the channel again; nil: that is not allowed, or not possible.
func (p *Producer) creator() func(context.Context) error {
	if _, can := p.backend.(driver.Provisioner); !can || p.o.Provision != ProvisionAuto {
		return nil
	}
	spec := p.spec
	spec.Again = true
	return func(ctx context.Context) error { return provision(ctx, p.backend, p.name, spec) }
}

// cannotCancel says which backends can.
const cannotCancel = "the backend cannot cancel messages: with SNS and SQS, set snssqs.Options.Decisions"

// Cancel cancels a Cancellable message of the channel by its Receipt.ID, if it still waits. True: it is cancelled, and
// is never delivered. False: it is too late, and the message is delivered, or was. Both are final, and to cancel a
// message again answers the same. With an error it is unknown whether the message is cancelled, as if an answer was
// lost: call Cancel again. If the class of the error ([driver.ClassOf]) is [driver.Permanent], that does not help:
// the text is no id, or the id is one of another channel.
func (p *Producer) Cancel(ctx context.Context, id string) (cancelled bool, err error) {
	if err := checkContext(ctx); err != nil {
		return false, err
	}
	switch {
	case p.isClosed():
		return false, p.error("cancel", ErrClosed)
	case p.cancel == nil:
		return false, p.error("cancel", invalid("Receipt.ID", strconv.Quote(id), cannotCancel))
	case id == "":
		return false, p.error("cancel", invalid("Receipt.ID", `""`, "a message without one is not Cancellable"))
	}
	cancelled, err = p.cancel(ctx, p.spec.Channel, id)
	if err != nil {
		return false, p.error("cancel", err)
	}
	return cancelled, nil
}

// Report returns what the producer has done so far. It may be called at any time.
func (p *Producer) Report() ProducerReport {
	n := &p.outbox.count
	return ProducerReport{
		Accepted: n.accepted.Load(), Failed: n.failed.Load(),
		Retried: n.retried.Load(), Duplicates: n.duplicates.Load(),
	}
}

// ProducerReport is what a producer has done.
type ProducerReport struct {
	Accepted int64 // messages that the service has accepted
	Failed   int64 // messages whose sender got an error of the service
	Retried  int64 // sends after the first one of a message
	// Duplicates are accepted messages that the service does not deliver; see [Receipt].Duplicate.
	Duplicates int64
}

// Health returns the producer's current state.
func (p *Producer) Health() ProducerHealth {
	now := time.Now()
	h := ProducerHealth{LastSend: p.calls.Answered(calls.Send), Unhealthy: p.calls.Complaints(now, 0)}
	if err := p.hooks.faults.recent(now); err != nil {
		h.Unhealthy = append(h.Unhealthy, fmt.Sprintf("an internal panic: %v", err))
	}
	return h
}

// ProducerHealth is the state of a producer.
type ProducerHealth struct {
	LastSend time.Time // the last send that the service has answered; zero: none
	// Unhealthy has the reasons why messages are not accepted, since when, and the error. It is empty if they are
	// accepted, or if no message was sent for a while.
	Unhealthy []string
}

// Channel returns the name with which the producer was made.
func (p *Producer) Channel() string { return p.name }

// Ordered reports whether the channel keeps the messages of one order key in order. It is for what prepares messages
// for any producer, because a Message.DedupID is possible on ordered channels only.
func (p *Producer) Ordered() bool { return p.spec.Channel.Ordered }

// Address returns where the channel is, for traces and metrics. It is zero if the backend does not say.
func (p *Producer) Address() driver.Address { return addressOf(p.backend, p.spec.Channel) }

// addressOf asks a backend.
func addressOf(b Backend, ch driver.Channel) driver.Address {
	if address := driver.OperationsOf(b).Address; address != nil {
		return address(ch)
	}
	return driver.Address{}
}

// Close sends the queued messages, waits for the answers until ctx ends, and closes the producer. Callers that still
// wait then get an error, and so does Close: an [UnsentError] with their number. A second Close does nothing.
func (p *Producer) Close(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if was {
		return nil
	}
	unsent := p.outbox.close(ctx)
	call0(p.hooks.fault, p.o.Hooks.Closed)
	if err := errors.Join(unsent, p.sender.Close(ctx)); err != nil {
		return p.error("close", err)
	}
	return nil
}

func (p *Producer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *Producer) error(op string, err error) error { return wrapError(op, p.name, "", err) }
