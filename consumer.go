package godwit

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/bodies"
)

// Consumer handles the messages of one channel. It runs once: after Run it has the state Exited.
type Consumer struct {
	backend  Backend
	channel  driver.Channel
	name     string // the channel's name
	o        ConsumerOptions
	health   healthLog
	life     lifetime
	handling handling
}

// NewConsumer checks the options, provisions the channel, and returns a consumer that is ready to run. A configuration
// that cannot work is an error here, not later.
func NewConsumer(ctx context.Context, backend Backend, channel string, o *ConsumerOptions) (*Consumer, error) {
	c := &Consumer{backend: backend, name: channel}
	c.o = *cmp.Or(o, &ConsumerOptions{})
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
	log := newConsumerLog(c.o.Logger, channel)
	log.waitCut(&c.o, asked)
	c.life.init(channel, &c.o, log)
	c.handling = handling{
		name: channel, channel: c.channel, o: &c.o, policy: c.o.Policy, life: &c.life, log: log, health: &c.health,
		payloads: payloads{
			store: bodies.NewStore(c.o.MaxBytes, c.o.ProcessingTimeout, &c.health.calls, log.storeFailed),
			o:     &c.o, dead: c.channel.DeadLetter, fault: c.life.fault,
		},
	}
	c.handling.expiry = choice{verdict: Verdict{Action: ActionDrop}, expired: true}
	if c.o.DeadLetterExpired {
		c.handling.expiry = choice{verdict: Verdict{Action: ActionReject}, reason: errExpired, expired: true}
	}
	if c.o.Policy == nil {
		c.handling.policy = RetryPolicy(c.o.MaxAttempts, c.o.Backoff)
	}
	call1(c.life.fault, c.o.Hooks.Created, c)
	if err := provision(ctx, backend, channel, c.o.spec(c.channel)); err != nil {
		c.life.state.to(StateExited)
		return nil, err
	}
	c.life.state.to(StateInitialized)
	return c, nil
}

// Channel returns the name with which the consumer was made.
func (c *Consumer) Channel() string { return c.name }

// Address returns where the channel is, for traces and metrics. It is zero if the backend does not say.
func (c *Consumer) Address() driver.Address { return addressOf(c.backend, c.channel) }

// DelayTolerance returns how old a delivery may be when its handler starts, as the options say.
func (c *Consumer) DelayTolerance() time.Duration { return c.o.DelayTolerance }

// Run handles messages until ctx ends, or until the consumer cannot continue. It returns when all deliveries are
// settled or released, within ShutdownTimeout, with a report. After the end of ctx the error is nil; otherwise it says
// why the consumer stopped. If the service does not answer, at the start or later, Run waits for it, and
// [Consumer.Health] reports it. A consumer runs once.
func (c *Consumer) Run(ctx context.Context, h Handler) (Report, error) {
	return c.runAlone(ctx, c.With(h))
}

func (c *Consumer) runAlone(ctx context.Context, a Assignment) (Report, error) {
	o := FleetOptions{Concurrency: c.life.handlers(), MaxBytes: c.o.MaxBytes, alone: true}
	reports, err := runFleet(ctx, &o, []Assignment{a})
	if len(reports) == 0 {
		return Report{}, err
	}
	return reports[0], err
}

// With assigns a handler to the consumer, for [RunAll].
func (c *Consumer) With(h Handler) Assignment { return Assignment{consumer: c, handler: h, weight: 1} }

// Pause stops polling and releases the deliveries whose handlers have not started. Running handlers continue. The
// deliveries behind one in its lane are released when it ends, because no other consumer can get them earlier. On Kafka
// nothing is released: the deliveries wait. A consumer may be paused before it runs. A second Pause does nothing.
func (c *Consumer) Pause() {
	if s := c.life.change(func(l *lifetime) { l.paused = true }); s != nil {
		s.Pause()
	}
}

// Resume ends a Pause.
func (c *Consumer) Resume() {
	if s := c.life.change(func(l *lifetime) { l.paused = false }); s != nil {
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
	if s := c.life.change(func(l *lifetime) { l.concurrency = n }); s != nil {
		s.SetConcurrency(n)
	}
	return nil
}

// SetRate changes ConsumerOptions.Rate, also while the consumer runs. Messages that were already received still start.
func (c *Consumer) SetRate(r Rate) error {
	if err := r.check("rate"); err != nil {
		return err
	}
	if s := c.life.change(func(l *lifetime) { l.rate = r }); s != nil {
		s.SetRates(c.life.rates())
	}
	return nil
}

// SetTenantRate changes ConsumerOptions.TenantRate, also while the consumer runs.
func (c *Consumer) SetTenantRate(r Rate) error {
	if err := r.checkTenant("rate of tenants", c.o.Ordered); err != nil {
		return err
	}
	if s := c.life.change(func(l *lifetime) { l.tenantRate = r }); s != nil {
		s.SetRates(c.life.rates())
	}
	return nil
}

// checkBackend returns an error for a nil backend, also for a nil pointer in the interface.
func checkBackend(b Backend) error {
	if v := reflect.ValueOf(b); b == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("backend", "nil",
			"open one with local.Open, snssqs.Open or kafka.Open, and check the error that it returns")
	}
	return nil
}
