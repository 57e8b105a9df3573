package godwit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Consumer handles the messages of one channel. It runs once: after Run it has the state Exited.
type Consumer struct {
	backend Backend
	channel driver.Channel
	name    string // the channel's name
	o       ConsumerOptions
	policy  Policy
	log     *consumerLog
	adapts  bool // MaxConcurrency was above Concurrency at the start
	state   machine
	health  healthLog
	sealed  choice // the choice of a delivery that cannot be settled now

	discards discardLog
	bodies   bodies // from a store, of running handlers

	mu      sync.Mutex
	claimed bool // it runs, or has run
	paused  bool
	session *engine.Session // of Run or an iterator, when it has begun
	giveUp  func(error)     // ends the opening of its receiver; nil: the receiver is not being opened
	puller  *puller         // of an iterator, when it has begun
}

// NewConsumer checks the options, provisions the channel, and returns a consumer that is ready to run. A configuration
// that cannot work is an error here, not later.
func NewConsumer(ctx context.Context, backend Backend, channel string, o *ConsumerOptions) (*Consumer, error) {
	c := &Consumer{backend: backend, name: channel}
	if o != nil {
		c.o = *o
	}
	if err := errors.Join(checkContext(ctx), checkBackend(backend)); err != nil {
		return nil, err
	}
	var err error
	if c.channel, err = parseChannel(channel, c.o.Ordered); err != nil {
		return nil, err
	}
	if c.channel.Queue == "" {
		return nil,
			invalid("channel", channel,
				"a consumer needs a queue of its own: name it, as in "+c.channel.Exchange+".audit_log")
	}
	if c.channel.DeadLetter {
		if c.channel, err = deadLetters(ctx, backend, channel, "ConsumerOptions.Ordered", c.channel); err != nil {
			return nil, err
		}
		c.o.Ordered = c.channel.Ordered
	}
	asked := c.o.WaitTime
	if err := c.o.complete(c.channel); err != nil {
		return nil, err
	}
	c.bodies.limit, c.bodies.wait = c.o.MaxBytes, min(c.o.ProcessingTimeout/roomPart, fetchStall)
	c.adapts = c.o.MaxConcurrency > c.o.Concurrency
	c.policy = c.o.Policy
	if c.policy == nil {
		c.policy = RetryPolicy(c.o.MaxAttempts, c.o.Backoff)
	}
	c.log = newConsumerLog(c.o.Logger, channel)
	c.log.waitCut(&c.o, asked)
	c.state.observe = c.tellState
	c.state.since = time.Now()
	if f := c.o.Hooks.Created; f != nil {
		c.guard(func() { f(c) })
	}
	if err := provision(ctx, backend, channel, c.o.spec(c.channel)); err != nil {
		c.state.to(StateExited)
		return nil, err
	}
	c.state.to(StateInitialized)
	return c, nil
}

func (c *Consumer) tellState(from, to State) {
	c.log.state(from, to)
	if f := c.o.Hooks.State; f != nil {
		c.guard(func() { f(from, to) })
	}
}

// guard calls a hook that may be called before the session begins. A panic is a fault of the session, if there is one.
func (c *Consumer) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.fault(newPanicError(p))
		}
	}()
	f()
}

// fault handles a panic of a function that the user has set.
func (c *Consumer) fault(err *PanicError) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Fault(err)
		return
	}
	c.log.Error("internal panic", "error", err, "stack", string(err.Stack))
}

// unsettled returns the function that gets settle errors in addition to the hook, or nil.
func (c *Consumer) unsettled() func(error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.puller == nil {
		return nil
	}
	return c.puller.failed
}

// checkBackend returns an error for a nil backend, also for a nil pointer in the interface.
func checkBackend(b Backend) error {
	if v := reflect.ValueOf(b); b == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("backend", "nil",
			"open one with local.Open, snssqs.Open or kafka.Open, and check the error that it returns")
	}
	return nil
}

// Report returns what the consumer has done so far. It may be called at any time.
func (c *Consumer) Report() Report {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return Report{}
	}
	return reportOf(s)
}

// Channel returns the name with which the consumer was made.
func (c *Consumer) Channel() string { return c.name }

// Address returns where the channel is, for traces and metrics. It is zero if the backend does not say.
func (c *Consumer) Address() driver.Address { return addressOf(c.backend, c.channel) }

// DelayTolerance returns how old a delivery may be when its handler starts, as the options say.
func (c *Consumer) DelayTolerance() time.Duration { return c.o.DelayTolerance }

// State returns the consumer's state, and since when it has it.
func (c *Consumer) State() (State, time.Time) { return c.state.now() }

// Spec returns the resources that a consumer with these options needs of a channel, for programs that provision
// channels without consuming them. An error is one that [NewConsumer] would return.
func (o *ConsumerOptions) Spec(channel string) (driver.ChannelSpec, error) {
	own := *o
	ch, err := parseChannel(channel, own.Ordered)
	if err == nil && (ch.Queue == "" || ch.DeadLetter) {
		err = nameError(channel, "name a queue: orders, or one of an exchange's, as in wishlist_events.audit_log")
	}
	if err == nil {
		err = own.complete(ch)
	}
	if err != nil {
		return driver.ChannelSpec{}, err
	}
	return own.spec(ch), nil
}

// spec returns the resources that complete options need.
func (o *ConsumerOptions) spec(ch driver.Channel) driver.ChannelSpec {
	return driver.ChannelSpec{
		Channel: ch, Owner: true, Mode: o.Provision.driver(),
		Filter: o.Filter.driver(), Delay: o.Delay, Lease: o.Lease,
		Retention: o.Retention, DeadRetention: o.DeadLetterRetention,
		LongestRetry: longestRetry(o), MaxReceives: maxReceives(o),
		NoDeadLetters:  o.NoDeadLetters,
		HighThroughput: o.HighThroughput, Encryption: o.Encryption, Tags: o.Ownership.tags(),
	}
}

// Run handles messages until ctx ends, or until the consumer cannot continue. It returns when all deliveries are
// settled or released, within ShutdownTimeout, with a report. After the end of ctx the error is nil; otherwise it says
// why the consumer stopped. If the service does not answer, at the start or later, Run waits for it, and
// [Consumer.Health] reports it. A consumer runs once.
func (c *Consumer) Run(ctx context.Context, h Handler) (Report, error) {
	return c.runAlone(ctx, c.With(h))
}

func (c *Consumer) runAlone(ctx context.Context, a Assignment) (Report, error) {
	o := FleetOptions{Concurrency: c.concurrency(), MaxBytes: c.o.MaxBytes, alone: true}
	reports, err := runFleet(ctx, &o, []Assignment{a})
	if len(reports) == 0 {
		return Report{}, err
	}
	return reports[0], err
}

// claim allows a consumer to run once.
func (c *Consumer) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, _ := c.state.now(); c.claimed || st != StateInitialized {
		return &Error{
			Op: "run", Channel: c.name,
			Err: fmt.Errorf("%w: a consumer runs once, and this one is %v: create another one", ErrClosed, st),
		}
	}
	c.claimed = true
	return nil
}

// Pause stops polling and releases the deliveries whose handlers have not started. Running handlers continue. The
// deliveries behind one in its lane are released when it ends, because no other consumer can get them earlier. On Kafka
// nothing is released: the deliveries wait. A consumer may be paused before it runs. A second Pause does nothing.
func (c *Consumer) Pause() {
	c.mu.Lock()
	c.paused = true
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Pause()
	}
}

// Resume ends a Pause.
func (c *Consumer) Resume() {
	c.mu.Lock()
	c.paused = false
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Resume()
	}
}

// SetConcurrency changes how many handlers run at the same time, also while the consumer runs. Additional handlers
// start as soon as there are deliveries for them. Surplus handlers finish first. In a fleet it changes the consumer's
// limit, and the pool keeps its size. If MaxConcurrency is larger, the pool adapts from the new number.
func (c *Consumer) SetConcurrency(n int) error {
	if err := within("concurrency", n, 1, maxConcurrency); err != nil {
		return err
	}
	c.mu.Lock()
	s := c.session
	c.o.Concurrency = n
	c.mu.Unlock()
	if s != nil {
		s.SetConcurrency(n)
	}
	return nil
}

// concurrency is the current number of handlers.
func (c *Consumer) concurrency() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Concurrency
}

// rates returns the consumer's current rates.
func (c *Consumer) rates() (all, tenant engine.Rate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Rate.engine(), c.o.TenantRate.engine()
}

// SetRate changes ConsumerOptions.Rate, also while the consumer runs. Messages that were already received still start.
func (c *Consumer) SetRate(r Rate) error {
	if err := r.check("rate"); err != nil {
		return err
	}
	c.setRates(func(o *ConsumerOptions) { o.Rate = r })
	return nil
}

// SetTenantRate changes ConsumerOptions.TenantRate, also while the consumer runs.
func (c *Consumer) SetTenantRate(r Rate) error {
	if err := r.checkTenant("rate of tenants", c.o.Ordered); err != nil {
		return err
	}
	c.setRates(func(o *ConsumerOptions) { o.TenantRate = r })
	return nil
}

func (c *Consumer) setRates(change func(*ConsumerOptions)) {
	c.mu.Lock()
	change(&c.o)
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.SetRates(c.rates())
	}
}
