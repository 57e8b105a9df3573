package godwit

import (
	"errors"
	"fmt"
	"log/slog"
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
	defaultMaxBody           = 16 << 20
	defaultSettleLinger      = 100 * time.Millisecond
	maxSettleLinger          = 5 * time.Second

	maxBatch             = 10 // the most that SQS returns at once
	maxConcurrency       = 100_000
	minProcessingTimeout = time.Second
	maxProcessingTimeout = 30 * time.Minute
	maxDelay             = 900 * time.Second
	minRetention         = time.Minute
	maxRetention         = 14 * 24 * time.Hour
	minLease             = 3 * time.Second
	maxLease             = 12 * time.Hour
)

// ConsumerOptions configure a consumer. The zero value is good for most. The fields are grouped by what they are about;
// docs/consumer.md has them as tables, with their limits.
type ConsumerOptions struct {
	// Name is who the consumer is, in dead letters and logs; "": the channel's name. Set it when several applications
	// consume the same channel.
	Name string

	// What to receive.

	// Filter selects the messages of an exchange by their routing key; the zero Filter passes all of them. Set it when
	// this consumer needs only some.
	Filter Filter
	// BatchSize is how many messages one receive asks for, up to 10; 0: as many as the service returns. Lower it when
	// messages are so large that ten of them are too many.
	BatchSize int
	// WaitTime is how long one poll stays open, up to 20 s; 0: 20 s, negative: not at all. Make it negative for a
	// service that does not support long polls, which costs up to ten requests a second while no message arrives. A
	// poll is also limited to two thirds of Lease, and to what ShutdownTimeout leaves; the log says so.
	WaitTime time.Duration
	// Lease is how long the service leaves a received message to this consumer before the lease is renewed; 0: 30 s, or
	// the visibility timeout of a queue that snssqs.Options.Names maps. After a crash the messages that were held are
	// delivered again that much later: shorten it when that is too late, at the cost of more renewals.
	Lease time.Duration

	// How much at once.

	// Concurrency is how many handlers run at once; 0: 10. Raise it when handlers mostly wait for something else, and
	// lower it when they use something scarce.
	Concurrency int
	// MaxConcurrency is how many handlers may run at once while deliveries start too late: when their age approaches
	// DelayTolerance, or when the backlog needs more of them. Set it when the load varies; the service is then asked
	// for the backlog. 0: Concurrency, so that the number never changes.
	MaxConcurrency int
	// DelayTolerance is how old a delivery may be when its handler starts; 0: 2 min. MaxConcurrency, SaveRequests and
	// [Consumer.Demand] aim at it: set it to the delay that is acceptable to you.
	DelayTolerance time.Duration
	// MaxBytes bounds the bodies that the consumer holds; 0: 64 MiB. Polls wait above it, so one receive may exceed it.
	// Lower it when memory is short and messages are large.
	MaxBytes int64
	// MaxBody is the size up to which a body that is in a store, because its message is large, is read into
	// Delivery.Body before the handler begins; 0: 16 MiB. Raise it for handlers that need larger bodies in memory: a
	// body above it is read with [Delivery.Open], and a delivery whose handler does not do so is rejected, with MaxBody
	// in the reason.
	MaxBody int64
	// Stream leaves all bodies that are in a store to [Delivery.Open]. Set it when handlers read large bodies piece by
	// piece; such a delivery of a typed handler is rejected.
	Stream bool
	// SettleLinger is how long a handled message may wait for others, so that one request deletes ten; 0: 100 ms, and a
	// tenth of Lease at most. A message that is handled and not deleted yet is handled again after a crash: make it
	// negative to delete at once, at up to twice the requests. A full request does not wait, nor does a stop, nor a
	// message that others wait for.
	SettleLinger time.Duration
	// SaveRequests makes pauses between polls while messages arrive one by one, so that each poll returns more of them.
	// Set it when requests cost more than a delay. A pause is at most a twentieth of DelayTolerance, and 20 s; there is
	// none when messages are half as old as DelayTolerance, or on Kafka, where a poll costs nothing.
	SaveRequests bool
	// Rate limits how many messages may start in a period; the zero Rate is no limit. Set it when what handlers call
	// takes no more. The consumer checks it before a poll, so that messages above it stay in the service, for other
	// consumers. A retry counts again. [Consumer.SetRate] changes it.
	Rate Rate
	// TenantRate is the Rate of each tenant's messages, on a channel without order, where the order key names the
	// tenant. Set it when one tenant must not use up what handlers call. A delivery above it waits, or is released for
	// a while. [Consumer.SetTenantRate] changes it.
	TenantRate Rate
	// MaxPerTenant is how many deliveries of one tenant are handled at once, on a channel without order, where the
	// order key names the tenant; 0: no limit. Set it when the burst of one customer must not delay the others. A
	// delivery above it waits, or is released for a while.
	MaxPerTenant int

	// Failure.

	// ProcessingTimeout is how long a handler may run, 1 s to 30 min; 0: 5 min. Then its context is canceled with
	// cause [ErrProcessingTimeout], and its delivery is rejected. Set it to the longest time that a handler needs.
	ProcessingTimeout time.Duration
	// MaxAbandoned is how many handlers that ignore the end of their context are replaced by new ones; one more ends
	// Run with [ErrAbandoned]. 0: as many as Concurrency. Lower it when such handlers hold what others need.
	MaxAbandoned int
	// Policy decides about a delivery whose handler has failed; nil: RetryPolicy(MaxAttempts, Backoff). Set it when the
	// decision depends on the error or on the message.
	Policy Policy
	// MaxAttempts is how many failures of a message lead to its rejection; 0: 3. Raise it when failures are often
	// temporary. With a Policy it must be 0, because the policy decides.
	MaxAttempts int
	// Backoff is how long a message waits for its next attempt; nil: Exponential(5 s, 10 min). Change it when what
	// failed usually recovers sooner or later than that. With a Policy it must be nil, because the policy decides.
	Backoff Backoff
	// BreakAfter is how many handlers must fail one after another until the consumer stops receiving; 0: it never
	// stops. Set it when handlers depend on something that may be down. Then one delivery at a time is tried, after 5 s
	// and less and less often, up to every 2 min, and the first success resumes receiving. Failures of that time are
	// released and are no attempts. Errors marked [Permanent] or [Fatal] do not count.
	BreakAfter int
	// NoDeadLetters stops the consumer with the error, and keeps the message, instead of rejecting it. Set it when no
	// message may be passed over, or when there is no place for dead letters.
	NoDeadLetters bool

	// MaxAge is how old a message may be when its handler starts, from the time at which the service accepted it for
	// the first time; 0: of any age. An older one has expired, as if its Message.Expires were MaxAge; the earlier of
	// both counts. Set it when old messages do harm, and their senders do not say so.
	MaxAge time.Duration
	// DeadLetterExpired rejects expired messages, with the kind expired, instead of discarding them. Set it when
	// somebody looks at them, or when they may be sent again.
	DeadLetterExpired bool

	// Order.

	// Ordered says that the messages of one order key are handled one after another. Set it when their order matters;
	// the producers of the channel must set it, too. Of dead letters it is looked up.
	Ordered bool
	// HighThroughput recognizes duplicates per order key instead of per channel, on ordered channels of SQS and SNS.
	// Set it when one channel needs more than 300 requests a second.
	HighThroughput bool

	// Shutdown.

	// ShutdownTimeout is all the time that a stop may take; 0: 30 s. Set it below the time that the process has between
	// the first signal and the kill. On a channel without order less than 25 s costs requests, because polls are then
	// shorter.
	ShutdownTimeout time.Duration

	// Provisioning.

	// Provision says how far [NewConsumer] may go to provide what the channel needs; 0: it creates what is missing and
	// changes what differs. Restrict it when another program provisions.
	Provision ProvisionMode
	// Delay is how long every message waits before it can be received, up to 15 min; 0: not at all. Set it when what a
	// message tells of becomes visible elsewhere only after a while. Kafka does not support it: there it is an error.
	Delay time.Duration
	// Retention is how long the service keeps a message that is not handled; 0: as long as it can, 14 days on SQS, and
	// on Kafka as kafka.Options says, and the topic of an exchange always so. Shorten it when old messages must not be
	// handled any more. A queue whose retention is longer keeps it, because a shorter one deletes messages.
	Retention time.Duration
	// DeadLetterRetention is how long the service keeps dead letters; 0: as long as it can, and on Kafka 14 days or
	// Retention, if that is longer. Shorten it when messages must be gone after a time.
	DeadLetterRetention time.Duration
	// Encryption is the key of the service's key store that encrypts messages; "": the service's own encryption. Set it
	// when you must control the key. Kafka does not support it: there it is an error.
	Encryption string
	// Ownership says whose the channel is, in tags of its resources. Set it when others look after the resources of the
	// account.
	Ownership Ownership

	// Observing.

	// Middleware runs around every handler; the first is outermost. Set it for what all handlers need, such as a
	// transaction or [Idempotent].
	Middleware []Middleware
	// Hooks are called when something happens, and change nothing. Set them to feed metrics and traces.
	Hooks Hooks
	// Logger gets what a person on call needs: changes of state, retries (sampled), dead letters, timeouts, panics,
	// lost leases, verdicts that the service did not take. Set it to log elsewhere, or to slog.DiscardHandler for
	// silence; nil: slog.Default(), from warnings up.
	Logger *slog.Logger
}

// longestRetry is the longest delay of the options' schedule. It is unknown, 0, if the options have a policy of their
// own, if the delays are random, and if the schedule panics, which the session handles when the delay is needed.
func longestRetry(o *ConsumerOptions) (longest time.Duration) {
	const looked = 100 // at so many attempts
	const draws = 20   // of one delay; two draws of Exponential agree once in a hundred
	if o.Policy != nil {
		return 0
	}
	defer func() {
		if recover() != nil {
			longest = 0
		}
	}()
	for n := 1; n < min(o.MaxAttempts, looked); n++ {
		d := o.Backoff(n)
		for range draws {
			if o.Backoff(n) != d {
				return 0
			}
		}
		longest = max(longest, d)
	}
	return longest
}

// maxReceives is the number of receives after which the service moves a message to the dead letters, for messages that
// kill every process. It is far above the number of our retries, because releases count as receives, too, and higher on
// ordered queues, where whole lanes are released.
func maxReceives(o *ConsumerOptions) int {
	const most = 1000 // SQS allows no more
	n := max(20, 10*o.MaxAttempts)
	if o.Policy != nil { // a policy may retry more often
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

// releasesOften reports whether messages are released often, on purpose: messages of a tenant above its share or rate,
// and those that an open breaker exchanges.
func (o *ConsumerOptions) releasesOften() bool {
	return o.MaxPerTenant > 0 || o.BreakAfter > 0 || o.TenantRate.Events > 0
}

// check returns an error for options that have no effect together with others. It gets the options of the caller,
// without defaults.
func (o *ConsumerOptions) check(ch driver.Channel) error {
	var wrong []error
	refuse := func(conflict bool, option string, value any, why string) {
		if conflict {
			wrong = append(wrong, invalid("ConsumerOptions."+option, value, why))
		}
	}
	const withPolicy = "it has no effect together with Policy: pass it to RetryPolicy, or remove one of both"
	refuse(o.Policy != nil && o.MaxAttempts != 0, "MaxAttempts", o.MaxAttempts, withPolicy)
	refuse(o.Policy != nil && o.Backoff != nil, "Backoff", "set", withPolicy)
	refuse(o.HighThroughput && !o.Ordered && !ch.DeadLetter, // the order of dead letters is looked up
		"HighThroughput", o.HighThroughput, "it is for ordered channels: set Ordered, too, or remove the option")
	refuse(o.MaxPerTenant > 0 && o.Ordered, "MaxPerTenant", o.MaxPerTenant,
		"on an ordered channel messages of one key are handled one after another anyway: remove the option")
	refuse(o.Stream && o.MaxBody != 0, "MaxBody", o.MaxBody,
		"it has no effect together with Stream, with which no body is read in advance: remove one of both")
	refuse(o.WaitTime > defaultWait, "WaitTime", o.WaitTime, fmt.Sprintf(
		"a poll waits for at most %v: lower it, or set a negative value for polls without waiting", defaultWait))
	refuse(o.MaxAge != 0 && (o.MaxAge < time.Second || o.MaxAge <= o.Delay), "MaxAge", o.MaxAge,
		"every message would expire: set at least 1s, and more than Delay, or remove the option")
	refuse(ch.DeadLetter && o.MaxAge != 0, "MaxAge", o.MaxAge,
		"dead letters do not expire: remove the option, and set DeadLetterRetention of their channel")
	refuse(o.DeadLetterExpired && (o.NoDeadLetters || ch.DeadLetter), "DeadLetterExpired", o.DeadLetterExpired,
		"there are no dead letters to move them to: remove the option")
	refuse(o.SettleLinger > maxSettleLinger, "SettleLinger", o.SettleLinger, fmt.Sprintf(
		"a handled message waits for at most %v: lower it, or set a negative value to delete at once", maxSettleLinger))
	return errors.Join(errors.Join(wrong...), eachSet("ConsumerOptions.Middleware", o.Middleware), o.Filter.check(ch))
}

// complete sets the defaults and returns an error for invalid values.
func (o *ConsumerOptions) complete(ch driver.Channel) error {
	wrong := o.check(ch)
	setDefault(&o.Name, ch.String())
	setDefault(&o.Concurrency, defaultConcurrency)
	if err := within("ConsumerOptions.Concurrency", o.Concurrency, 1, maxConcurrency); err != nil {
		wrong = errors.Join(err, wrong)
		o.Concurrency = defaultConcurrency // other options use it as their default, and are to be checked as well
	}
	setDefault(&o.MaxConcurrency, o.Concurrency)
	setDefault(&o.DelayTolerance, defaultDelayTolerance)
	setDefault(&o.WaitTime, defaultWait)
	setDefault(&o.MaxBytes, defaultMaxBytes)
	setDefault(&o.MaxBody, defaultMaxBody)
	setDefault(&o.SettleLinger, defaultSettleLinger)
	setDefault(&o.MaxAttempts, defaultMaxAttempts)
	setDefault(&o.ProcessingTimeout, defaultProcessingTimeout)
	setDefault(&o.ShutdownTimeout, defaultShutdownTimeout)
	setDefault(&o.MaxAbandoned, o.Concurrency)
	if o.Backoff == nil {
		o.Backoff = defaultBackoff()
	}
	o.WaitTime, o.SettleLinger = max(o.WaitTime, -1), max(o.SettleLinger, -1)
	if o.Lease > 0 { // a lease begins before the poll ends: after the longest wait there must be time to renew it
		o.WaitTime = min(o.WaitTime, o.Lease-engine.LeastLeft(o.Lease))
	}
	o.WaitTime = engine.FitWait(o.WaitTime, o.ShutdownTimeout)
	return errors.Join(wrong,
		within("ConsumerOptions.MaxConcurrency", o.MaxConcurrency, o.Concurrency, maxConcurrency),
		within("ConsumerOptions.DelayTolerance", o.DelayTolerance, time.Second, 24*time.Hour),
		within("ConsumerOptions.BreakAfter", o.BreakAfter, 0, 1_000_000),
		within("ConsumerOptions.BatchSize", o.BatchSize, 0, maxBatch),
		within("ConsumerOptions.MaxPerTenant", o.MaxPerTenant, 0, maxConcurrency),
		o.Rate.check("ConsumerOptions.Rate"),
		o.TenantRate.checkTenant("ConsumerOptions.TenantRate", o.Ordered),
		within("ConsumerOptions.MaxBytes", o.MaxBytes, 1, 1<<40),
		within("ConsumerOptions.MaxBody", o.MaxBody, 1, 1<<40),
		within("ConsumerOptions.Delay", o.Delay, 0, maxDelay),
		optional(o.Retention, within("ConsumerOptions.Retention", o.Retention, minRetention, maxRetention)),
		optional(o.DeadLetterRetention,
			within("ConsumerOptions.DeadLetterRetention", o.DeadLetterRetention, minRetention, maxRetention)),
		optional(o.Lease, within("ConsumerOptions.Lease", o.Lease, minLease, maxLease)),
		within("ConsumerOptions.ProcessingTimeout", o.ProcessingTimeout, minProcessingTimeout, maxProcessingTimeout),
		within("ConsumerOptions.MaxAbandoned", o.MaxAbandoned, 1, 100_000),
		within("ConsumerOptions.MaxAttempts", o.MaxAttempts, 1, 1000),
		within("ConsumerOptions.ShutdownTimeout", o.ShutdownTimeout, time.Millisecond, time.Hour),
		o.Ownership.check("ConsumerOptions.Ownership"),
		within("ConsumerOptions.Provision", o.Provision, ProvisionAuto, ProvisionDeclare),
	)
}

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

func (r Rate) checkTenant(field string, ordered bool) error {
	if ordered && r != (Rate{}) {
		return invalid(field, r, "on an ordered channel the order key is not a tenant: use Rate, or remove the option")
	}
	return r.check(field)
}

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
