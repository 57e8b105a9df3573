package godwit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Defaults and limits of ConsumerOptions.
const (
	defaultConcurrency       = 10
	defaultDelayTolerance    = 2 * time.Minute
	defaultWait              = 20 * time.Second // the longest a service keeps a poll open
	defaultMaxAttempts       = 3
	defaultBackoffFirst      = 5 * time.Second
	defaultBackoffLongest    = 10 * time.Minute
	defaultProcessingTimeout = 5 * time.Minute
	defaultShutdownTimeout   = 30 * time.Second
	defaultMaxBytes          = 64 << 20
	defaultSettleLinger      = 100 * time.Millisecond
	maxSettleLinger          = 5 * time.Second

	maxBatch             = 10 // the most that SQS returns at once
	maxConcurrency       = 100_000
	minProcessingTimeout = time.Second
	maxProcessingTimeout = 30 * time.Minute
	maxDelay             = 900 * time.Second
	minLease             = 3 * time.Second
	maxLease             = 12 * time.Hour
)

// ConsumerOptions say how a consumer works. The zero value is good for most. The fields are grouped by the question
// that they answer; docs/consumer.md has them as tables, with their limits.
type ConsumerOptions struct {
	// Name is who the consumer is, in dead letters and logs; "" means the channel's name. Set it when several
	// applications consume the same channel.
	Name string

	// What to receive.

	// Filter selects the messages of an exchange by their routing key. Set it when this consumer does not want all.
	Filter Filter
	// BatchSize is how many messages one receive asks for, where the service takes a number; 0 means as many as it
	// gives. Lower it when messages are so large that ten of them are too many.
	BatchSize int
	// WaitTime is how long one poll stays open, up to 20 s; 0 means 20 s. With a short Lease it is two thirds of that
	// at most; without order it is cut to what ShutdownTimeout leaves for it, which the log tells. A negative WaitTime
	// does not wait, for a service that does not support it: that costs up to ten requests a second while nothing
	// comes.
	WaitTime time.Duration
	// Lease is how long a received message stays ours before it is renewed; 0 means 30 s. After a crash it takes as
	// long until the message comes again: shorten it where that is too late, at the price of more renewals.
	Lease time.Duration

	// How much at once.

	// Concurrency is how many handlers run at once; 0 means 10. Raise it when handlers mostly wait for something else.
	Concurrency int
	// MaxConcurrency is how far the pool may grow while deliveries start later than they should: when their age nears
	// DelayTolerance, or the backlog is too much for the pool. It shrinks again afterwards. While it may grow, the
	// service is asked for the backlog. 0 means Concurrency, so that the pool keeps its size.
	MaxConcurrency int
	// DelayTolerance is how old a delivery may be when it starts; 0 means 2 min. It steers MaxConcurrency and Demand.
	DelayTolerance time.Duration
	// MaxBytes bounds the bodies that are held: polling waits above it, so one receive may overshoot. 0 means 64 MiB.
	// Lower it where memory is short and messages are large.
	MaxBytes int64
	// SettleLinger is how long a handled message may wait for others, so that one request deletes ten; a tenth of Lease
	// at most. What was handled and not yet deleted is handled again after a crash: a negative SettleLinger deletes at
	// once, at up to twice the requests. 0 means 100 ms. A full request, a stop, and what holds others up never wait.
	SettleLinger time.Duration
	// SaveRequests makes pauses between polls while messages come one by one, so that each poll brings more: up to a
	// twentieth of DelayTolerance, and 20 s, and none when messages are half as old as is tolerated. Set it where
	// requests cost more than waiting does. Consumers of logs, and so of Kafka, pay nothing for a poll, and make no
	// pauses.
	SaveRequests bool
	// Rate is how many messages may start in a while. It is looked at before a poll, so that what may not start yet
	// stays with the service, for others. A message that is tried again counts again. Set it where what handlers call
	// takes no more. [Consumer.SetRate] changes it.
	Rate Rate
	// TenantRate is that for the messages of each tenant, on a channel that keeps no order (there the order key says
	// whose message it is). What is too much waits, or goes back for a while. [Consumer.SetTenantRate] changes it.
	TenantRate Rate
	// MaxPerTenant is how many deliveries of one tenant are handled at once, on a channel that keeps no order (there
	// the order key says whose message it is). What comes beyond that waits, or goes back for a while. 0 means no
	// limit. Set it when one customer's burst must not delay the others.
	MaxPerTenant int

	// Failure.

	// ProcessingTimeout is how long a handler may run, 1 s to 30 min; then its context is cancelled with cause
	// [ErrProcessingTimeout] and its delivery dead-lettered. 0 means 5 min. Set it to what a handler takes at worst.
	ProcessingTimeout time.Duration
	// MaxAbandoned is how many handlers that ignore their cancelled context are replaced; one more ends Run with
	// [ErrAbandoned]. 0 means as many as Concurrency. Lower it where such handlers hold what others need.
	MaxAbandoned int
	// Policy decides what becomes of a delivery whose handler failed; nil means RetryPolicy(MaxAttempts, Backoff). Set
	// it when what happens depends on the error.
	Policy Policy
	// MaxAttempts is how often a message is tried; 0 means 3. It has no place beside a Policy.
	MaxAttempts int
	// Backoff is how long a message waits for its next attempt; nil means Exponential(5 s, 10 min). It has no place
	// beside a Policy.
	Backoff Backoff
	// BreakAfter is how many handlers must fail one after another until the consumer stops receiving, because what they
	// depend on seems to be down: then one delivery at a time is tried, after 5 s and ever less often, up to every 2
	// min, and the first that is handled lets the others in again. What fails meanwhile is given back and is no
	// attempt. Errors marked Permanent or Fatal do not count. 0 means that it goes on receiving.
	BreakAfter int
	// NoDeadLetters: there is nowhere to put what cannot be handled, so the consumer stops with the error instead, and
	// the message is kept. Set it where a message must not be passed over.
	NoDeadLetters bool

	// Order.

	// Ordered: messages of one order key are handled one after another. It must be what the channel is; of dead letters
	// it is looked up.
	Ordered bool
	// HighThroughput de-duplicates per order key instead of per channel, on ordered channels. Set it when one channel
	// takes more than 300 requests a second.
	HighThroughput bool

	// Shutdown.

	// ShutdownTimeout is the whole time that a stop may take; 0 means 30 s. Set it below what the process gets between
	// the first signal and the kill. Without order, less than 25 s costs requests: polls then wait for a shorter time.
	ShutdownTimeout time.Duration

	// Provisioning.

	// Provision says how far the constructor may go in making what the channel needs; 0 means that it makes what is
	// missing and changes what differs. Restrict it where something else provisions.
	Provision ProvisionMode
	// Delay is how long every message waits before it can be received, up to 15 min. Set it when what a message tells
	// of takes a while to be visible elsewhere.
	Delay time.Duration
	// Encryption is the key of the service's key store; "" means the service's own encryption.
	Encryption string
	// Ownership says whose the channel is, as tags. Set it where others look after what stands in the account.
	Ownership Ownership

	// Observing.

	// Middleware is wrapped around the handler; the first is outermost.
	Middleware []Middleware
	// Hooks observe what happens; they change nothing.
	Hooks Hooks
	// Logger gets what a person on call needs: changes of state, retries (sampled), dead letters, timeouts, panics,
	// lost leases, verdicts that the service did not take. nil means slog.Default(), from warnings up;
	// slog.DiscardHandler silences.
	Logger *slog.Logger
}

// Consumer handles the messages of one channel. It lives once: after Run it has Exited.
type Consumer struct {
	backend Backend
	channel driver.Channel
	name    string // the channel as users spell it
	o       ConsumerOptions
	policy  Policy
	log     *consumerLog
	adapts  bool // MaxConcurrency was above Concurrency from the start
	state   machine
	health  healthLog
	sealed  choice // what a delivery's choice is while none can be made

	discards discardLog

	mu      sync.Mutex
	claimed bool // it runs, or ran
	paused  bool
	session *engine.Session // of Run or an iterator, once begun
	giveUp  func(error)     // ends the opening of its receiver; nil: it is not being opened
	puller  *puller         // of an iterator, once begun
}

// NewConsumer checks the options, makes what the channel needs, and returns a consumer that is ready to run. What
// cannot work is an error here, not later.
func NewConsumer(ctx context.Context, backend Backend, channel string, o *ConsumerOptions) (*Consumer, error) {
	c := &Consumer{backend: backend, name: channel}
	if o != nil {
		c.o = *o
	}
	if err := checkBackend(backend); err != nil {
		return nil, err
	}
	var err error
	if c.channel, err = parseChannel(channel, c.o.Ordered); err != nil {
		return nil, err
	}
	if c.channel.Queue == "" {
		return nil, invalid("channel", channel, "a consumer has a queue of its own: name it, as in "+c.channel.Exchange+".audit_log")
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
	c.adapts = c.o.MaxConcurrency > c.o.Concurrency
	c.policy = c.o.Policy
	if c.policy == nil {
		c.policy = RetryPolicy(c.o.MaxAttempts, c.o.Backoff)
	}
	c.log = newConsumerLog(c.o.Logger, channel)
	c.log.waitCut(&c.o, asked)
	c.state.observe = c.tellState
	c.state.since = time.Now()
	if err := provision(ctx, backend, channel, c.spec()); err != nil {
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

// guard calls a hook that may come before the session; a panic in it is a fault of the session, if there is one.
func (c *Consumer) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.fault(newPanicError(p))
		}
	}()
	f()
}

// fault deals with a panic of a function that users gave.
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

// unsettled is who wants to see settle errors beside the hook; nil: nobody.
func (c *Consumer) unsettled() func(error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.puller == nil {
		return nil
	}
	return c.puller.failed
}

// checkBackend refuses a backend that is missing: also a nil pointer of one.
func checkBackend(b Backend) error {
	if v := reflect.ValueOf(b); b == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("backend", "nil", "open one first: local.Open, snssqs.Open, kafka.Open, and look at the error that they return")
	}
	return nil
}

// Report is what the consumer has done so far; it may be asked for at any time.
func (c *Consumer) Report() Report {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return Report{}
	}
	return reportOf(s)
}

// Channel is the name the consumer was made with.
func (c *Consumer) Channel() string { return c.name }

// State is where the consumer is in its life, and since when.
func (c *Consumer) State() (State, time.Time) { return c.state.now() }

func (c *Consumer) spec() driver.ChannelSpec {
	return driver.ChannelSpec{
		Channel: c.channel, Owner: true, Mode: c.o.Provision.driver(),
		Filter: c.o.Filter.driver(), Delay: c.o.Delay, Lease: c.o.Lease,
		MaxReceives:    maxReceives(&c.o),
		NoDeadLetters:  c.o.NoDeadLetters,
		HighThroughput: c.o.HighThroughput, Encryption: c.o.Encryption, Tags: c.o.Ownership.tags(),
	}
}

// maxReceives is the service's own net for messages that kill every process: far above what our retries need, because
// give-backs count as receives too, and higher on ordered queues, where a lane is given back whole.
func maxReceives(o *ConsumerOptions) int {
	const most = 1000 // SQS takes no more
	n := max(20, 10*o.MaxAttempts)
	if o.Policy != nil { // it may try more often than we know
		n = max(n, 100)
	}
	if o.Ordered {
		n = max(n, 100)
	}
	if o.releasesOften() {
		n = most
	}
	return min(n, most)
}

// releasesOften says whether messages go back and forth on purpose: those of a tenant that floods its channel, and
// those that an open breaker exchanges.
func (o *ConsumerOptions) releasesOften() bool {
	return o.MaxPerTenant > 0 || o.BreakAfter > 0 || o.TenantRate.Events > 0
}

// check refuses what has no effect, or no meaning, beside something else. It looks at what the caller gave, before the
// defaults are filled in.
func (o *ConsumerOptions) check(ch driver.Channel) error {
	switch {
	case o.Policy != nil && o.MaxAttempts != 0:
		return invalid("ConsumerOptions.MaxAttempts", o.MaxAttempts, "it has no effect beside a Policy, which decides itself: give it to RetryPolicy, or leave one of them out")
	case o.Policy != nil && o.Backoff != nil:
		return invalid("ConsumerOptions.Backoff", "set", "it has no effect beside a Policy, which decides itself: give it to RetryPolicy, or leave one of them out")
	case o.HighThroughput && !o.Ordered && !ch.DeadLetter: // the order of dead letters is looked up
		return invalid("ConsumerOptions.HighThroughput", o.HighThroughput, "it is about the de-duplication of ordered channels: set Ordered as well, or leave it out")
	case o.MaxPerTenant > 0 && o.Ordered:
		return invalid("ConsumerOptions.MaxPerTenant", o.MaxPerTenant, "on an ordered channel the order key is no tenant: messages of one key are handled one after another there")
	case o.WaitTime > defaultWait:
		return invalid("ConsumerOptions.WaitTime", o.WaitTime, fmt.Sprintf("a poll stays open for %v at most; negative: it does not wait", defaultWait))
	case o.SettleLinger > maxSettleLinger:
		return invalid("ConsumerOptions.SettleLinger", o.SettleLinger, fmt.Sprintf("a handled message waits for others for %v at most; negative: not at all", maxSettleLinger))
	}
	return errors.Join(eachSet("ConsumerOptions.Middleware", o.Middleware), o.Filter.check(ch))
}

// complete fills in the defaults and refuses what cannot be.
func (o *ConsumerOptions) complete(ch driver.Channel) error {
	if err := o.check(ch); err != nil {
		return err
	}
	setDefault(&o.Name, ch.String())
	setDefault(&o.Concurrency, defaultConcurrency)
	if err := within("ConsumerOptions.Concurrency", o.Concurrency, 1, maxConcurrency); err != nil {
		return err // before others take it as their default
	}
	setDefault(&o.MaxConcurrency, o.Concurrency)
	setDefault(&o.DelayTolerance, defaultDelayTolerance)
	setDefault(&o.WaitTime, defaultWait)
	setDefault(&o.MaxBytes, defaultMaxBytes)
	setDefault(&o.SettleLinger, defaultSettleLinger)
	setDefault(&o.MaxAttempts, defaultMaxAttempts)
	setDefault(&o.ProcessingTimeout, defaultProcessingTimeout)
	setDefault(&o.ShutdownTimeout, defaultShutdownTimeout)
	setDefault(&o.MaxAbandoned, o.Concurrency)
	if o.Backoff == nil {
		o.Backoff = defaultBackoff()
	}
	o.WaitTime, o.SettleLinger = max(o.WaitTime, -1), max(o.SettleLinger, -1)
	if o.Lease > 0 { // a lease counts from before the poll: the longest wait must leave time to renew it
		o.WaitTime = min(o.WaitTime, o.Lease-engine.LeastLeft(o.Lease))
	}
	if !ch.Ordered {
		o.WaitTime = engine.FitWait(o.WaitTime, o.ShutdownTimeout)
	}
	return errors.Join(
		within("ConsumerOptions.MaxConcurrency", o.MaxConcurrency, o.Concurrency, maxConcurrency),
		within("ConsumerOptions.DelayTolerance", o.DelayTolerance, time.Second, 24*time.Hour),
		within("ConsumerOptions.BreakAfter", o.BreakAfter, 0, 1_000_000),
		within("ConsumerOptions.BatchSize", o.BatchSize, 0, maxBatch),
		within("ConsumerOptions.MaxPerTenant", o.MaxPerTenant, 0, maxConcurrency),
		o.Rate.check("ConsumerOptions.Rate"),
		o.TenantRate.checkTenant("ConsumerOptions.TenantRate", o.Ordered),
		within("ConsumerOptions.MaxBytes", o.MaxBytes, 1, 1<<40),
		within("ConsumerOptions.Delay", o.Delay, 0, maxDelay),
		optional(o.Lease, within("ConsumerOptions.Lease", o.Lease, minLease, maxLease)),
		within("ConsumerOptions.ProcessingTimeout", o.ProcessingTimeout, minProcessingTimeout, maxProcessingTimeout),
		within("ConsumerOptions.MaxAbandoned", o.MaxAbandoned, 1, 100_000),
		within("ConsumerOptions.MaxAttempts", o.MaxAttempts, 1, 1000),
		within("ConsumerOptions.ShutdownTimeout", o.ShutdownTimeout, time.Millisecond, time.Hour),
		o.Ownership.check("ConsumerOptions.Ownership"),
		within("ConsumerOptions.Provision", o.Provision, ProvisionAuto, ProvisionNever),
	)
}
