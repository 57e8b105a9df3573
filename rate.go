package godwit

import (
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

// Rate is how many messages may start in a time. The zero value means no limit.
type Rate struct {
	// Events is how many messages may start in the time of Per. Set it to what the handlers' dependency takes.
	Events int
	// Per is the period of Events; 0: 1 s. Set it when the limit is per minute or per hour.
	Per time.Duration
	// Burst is how many messages may start at once after a quiet time; 0: as many as in a tenth of a second, and at
	// least one. So at most a tenth more than Events start in the busiest second. Raise it if the dependency tolerates
	// peaks.
	Burst int
}

// burstTime is what Burst is worth by default.
const burstTime = 100 * time.Millisecond

// maxRateEvents and maxRatePer bound the values of a Rate.
const (
	maxRateEvents = 1_000_000
	maxRatePer    = 24 * time.Hour
)

func (r Rate) check(field string) error {
	if r.Events == 0 && r != (Rate{}) {
		return invalid(field, r, "no message could start: set Events, or remove the rate for no limit; use Pause to stop a consumer")
	}
	return errors.Join(
		within(field+".Events", r.Events, 0, maxRateEvents),
		within(field+".Per", r.Per, 0, maxRatePer),
		within(field+".Burst", r.Burst, 0, maxRateEvents),
		optional(r, within(field+", one event each", r.every(), time.Microsecond, maxRatePer)),
	)
}

// String describes the rate.
func (r Rate) String() string {
	if r == (Rate{}) {
		return "no limit"
	}
	return fmt.Sprintf("%d in %v", r.Events, r.per())
}

func (r Rate) per() time.Duration {
	if r.Per == 0 {
		return time.Second
	}
	return r.Per
}

// every is the time between two starts.
func (r Rate) every() time.Duration { return r.per() / time.Duration(max(r.Events, 1)) }

// engine converts the rate for the engine.
func (r Rate) engine() engine.Rate {
	if r.Events == 0 {
		return engine.Rate{}
	}
	burst := r.Burst
	if burst == 0 {
		burst = max(1, int(burstTime/r.every()))
	}
	return engine.Rate{Every: r.every(), Burst: burst}
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

func (r Rate) checkTenant(field string, ordered bool) error {
	if ordered && r != (Rate{}) {
		return invalid(field, r, "on an ordered channel the order key is not a tenant: use Rate, or remove the option")
	}
	return r.check(field)
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
