package godwit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/engine"
	"github.com/godwitmq/godwit/internal/pace"
)

// Health is the state of a consumer.
type Health struct {
	State State
	Since time.Time
	// LastPoll is the last poll that was answered without an error, or refused because the channel is paused at the
	// service; zero: none.
	LastPoll time.Time
	Running  int       // running handlers
	Oldest   time.Time // when the oldest running handler began; zero: none runs
	// Abandoned are the handlers that ignore the end of their context.
	Abandoned []AbandonedHandler
	Paused    bool // Pause was called
	// PausedAtService is set while an operator has paused the channel (`godwit pause`). The consumer is healthy, and
	// goes on by itself when the channel is resumed.
	PausedAtService bool
	// PollHangs: the service has not answered polls for a while, neither with messages nor with an error. It is among
	// the reasons of Unhealthy.
	PollHangs bool
	// BreakerOpen: the consumer does not receive, because handlers fail one after another. It is among the reasons of
	// Unhealthy.
	BreakerOpen bool
	// Unhealthy has the reasons why the consumer does not work: each stage whose calls to the service stall, within a
	// minute, and everything else that prevents messages from being handled. It is empty if the consumer works.
	Unhealthy []string
	// ProcessingTimeout and ShutdownTimeout are from the consumer's options.
	ProcessingTimeout, ShutdownTimeout time.Duration
}

// AbandonedHandler is a handler that did not return after its context was canceled.
type AbandonedHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // the stack when it was abandoned
}

// holdReported is how long deliveries are held for the same outage before health reports it, since single failures are
// normal.
const holdReported = 15 * time.Second

// healthLog collects the facts for Health that the session does not have.
type healthLog struct {
	calls calls.Log

	mu         sync.Mutex
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
	holdErr    error
	holdSince  time.Time // the first of the holds that followed each other within calls.FailureLasts
	holdWhen   time.Time
}

func (l *healthLog) settleFailed(err error) {
	l.mu.Lock()
	l.settleErr, l.settleWhen = err, time.Now()
	l.mu.Unlock()
}

func (l *healthLog) fault(err error) {
	l.mu.Lock()
	l.faultErr, l.faultWhen = err, time.Now()
	l.mu.Unlock()
}

// held notes that a delivery is held, because its handler cannot work.
func (l *healthLog) held(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.holdErr == nil || now.Sub(l.holdWhen) >= calls.FailureLasts {
		l.holdSince = now
	}
	l.holdErr, l.holdWhen = err, now
}

// recent returns the last panic, if it was a short while ago.
func (l *healthLog) recent(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faultErr == nil || now.Sub(l.faultWhen) >= calls.FailureLasts {
		return nil
	}
	return l.faultErr
}

// State returns the consumer's state, and since when it has it.
func (c *Consumer) State() (State, time.Time) { return c.life.state.now() }

// Health returns the consumer's current state.
func (c *Consumer) Health() Health {
	h := Health{}
	h.State, h.Since = c.life.state.now()
	s := c.life.change(func(l *lifetime) { h.Paused = l.paused })
	now := time.Now()
	var known engine.Health
	if s != nil {
		known = s.Health(now)
	}
	c.health.fill(&h, now, max(c.o.WaitTime, 0), &known)
	h.ProcessingTimeout, h.ShutdownTimeout = c.o.ProcessingTimeout, c.o.ShutdownTimeout
	return h
}

// SlowHandler is a handler that has been running for long.
type SlowHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // where it is now; "": an iterator's caller has the delivery
}

// Slow returns the handlers that have been running for at least so long, the oldest first, with their stacks. It stops
// all goroutines for a moment, so call it when somebody wants to know, and not regularly.
func (c *Consumer) Slow(longer time.Duration) (slow []SlowHandler) {
	s := c.life.current()
	if s == nil {
		return nil
	}
	for _, one := range s.Slow(time.Now(), longer) {
		slow = append(slow, SlowHandler{MessageID: one.ID, Since: one.Since, Stack: one.Stack})
	}
	return slow
}

// fill sets the fields of h. wait is the longest wait of the consumer's polls.
func (l *healthLog) fill(h *Health, now time.Time, wait time.Duration, known *engine.Health) {
	h.LastPoll, h.Running, h.Oldest = l.calls.Answered(calls.Poll), known.Running, known.Oldest
	h.PausedAtService = known.Paused
	h.PollHangs, h.BreakerOpen = l.calls.Hangs(calls.Poll, now, wait), known.BreakerOpen
	h.Unhealthy = append(h.Unhealthy, l.calls.Complaints(now, wait)...)
	for _, a := range known.Abandoned {
		h.Abandoned = append(h.Abandoned, AbandonedHandler{MessageID: a.ID, Since: a.Since, Stack: a.Stack})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	complain := func(format string, args ...any) { h.Unhealthy = append(h.Unhealthy, fmt.Sprintf(format, args...)) }
	if l.settleErr != nil && now.Sub(l.settleWhen) < calls.FailureLasts {
		complain("a delivery could not be settled: %v", l.settleErr)
	}
	if l.faultErr != nil && now.Sub(l.faultWhen) < calls.FailureLasts {
		complain("an internal panic: %v", l.faultErr)
	}
	if lasts := l.holdWhen.Sub(l.holdSince); l.holdErr != nil && lasts >= holdReported &&
		now.Sub(l.holdWhen) < calls.FailureLasts {
		complain("deliveries have been held for %v, because their handlers cannot work: %v", lasts.Round(time.Second),
			l.holdErr)
	}
	if n := len(known.Abandoned); n > 0 {
		complain("%d handlers ignore the end of their context", n)
	}
	h.Unhealthy = append(h.Unhealthy, known.Complaints...)
}

// Report is what a consumer has done from its start until its end, or until the report was requested.
type Report struct {
	Received  int64 // deliveries, with redeliveries
	Handled   int64 // deleted after Done, or after Drop
	Dropped   int64
	Retried   int64
	Rejected  int64 // copied to the dead letters
	Released  int64 // released, also after a cancellation by shutdown; twice if an open poll received it again
	TimedOut  int64
	Abandoned int64 // handlers that did not return after their context was canceled
	LeaseLost int64
	Unsettled int64 // settlements that the service refused: the messages are delivered again
	Polls     int64
	Expired   int64 // of Dropped and Rejected: the messages had expired
	// Filtered and Redelivered are discarded messages, which are not counted in Received: the filter does not select
	// them, or they had been handled before.
	Filtered, Redelivered int64
	Took                  time.Duration
	// Stalled is how often receiving had to wait because the backend could not remember more finished messages behind
	// unfinished ones (Kafka). [Consumer.Health] says which partition, while it lasts.
	Stalled int64
	// Leaked is 1 if the consumer's counts of held deliveries were not zero at its end, which is a bug of Godwit; the
	// log has details.
	Leaked       int64
	StillRunning int // deliveries whose handlers had not returned
}

// Report returns what the consumer has done so far. It may be called at any time.
func (c *Consumer) Report() Report {
	s := c.life.current()
	if s == nil {
		return Report{}
	}
	return Report(s.Counts())
}

// Live is what a consumer holds at a moment, for metrics. Its numbers are of one moment and belong together.
type Live struct {
	Held     int // deliveries, with those whose settlements are in flight
	Running  int // deliveries with a handler, or with an iterator's caller
	Waiting  int // deliveries that wait for a worker, for those before them in their lanes, or for their tenant's share
	Retrying int // retries that the consumer holds
	Settling int // settlements in flight
	Bytes    int64
	Lanes    int // with at least one delivery
	// Blocked is for how long the lane that has waited longest has waited for its first delivery: since its handler has
	// started, or since its first failure. 0: no lane waits.
	Blocked time.Duration
	Workers int // handlers that may run at the same time
	Polls   int // open polls
	// Uncommitted are finished messages of Kafka that are delivered again after a crash, because no commit has passed
	// them yet.
	Uncommitted int64
}

// Live returns what the consumer holds now; the zero Live, if it does not run. It may be called at any time, and makes
// no request.
func (c *Consumer) Live() Live {
	s := c.life.current()
	if s == nil {
		return Live{}
	}
	return Live(s.Live())
}

// Demand is how many workers and consumers a channel needs, for autoscalers.
type Demand struct {
	Backlog int64 // messages that could be received now
	// InFlight are messages that consumers hold, or that wait for a retry or for their delay.
	InFlight int64
	Age      time.Duration // average age of deliveries at their start within the last minute; 0: none started
	Service  time.Duration // average duration of recent handlers, for one delivery; 0: none has ended
	// Workers is how many concurrent handlers would handle the backlog in the rest of the delay tolerance (backlog ×
	// service ÷ (tolerance − age)), and keep up with new messages. It is at least one while messages wait or are in
	// flight.
	Workers int
	// Consumers is how many processes like this one have so many workers, at their MaxConcurrency. 0: there are no
	// messages, and for some minutes there were none.
	Consumers int
	// Partitions are the partitions of a Kafka topic in which something waits; nil elsewhere.
	Partitions []PartitionDemand
}

// PartitionDemand is what waits in one partition.
type PartitionDemand struct {
	Partition int32
	Waiting   int64
	// Oldest is the age of the first message that is not finished: it may be in a handler's hands, or wait for a retry.
	// Watch it for a key that does not go on. Negative: unknown.
	Oldest time.Duration
}

// Demand requests the size of the backlog and computes how many consumers it needs. The result is more precise while
// the consumer runs, because the duration of handlers is then known.
func (c *Consumer) Demand(ctx context.Context) (Demand, error) {
	if err := checkContext(ctx); err != nil {
		return Demand{}, err
	}
	inspect := driver.OperationsOf(c.backend).Inspect
	if inspect == nil {
		return Demand{},
			&Error{Op: "inspect", Channel: c.name, Err: fmt.Errorf("%w: this backend cannot inspect channels",
				errors.ErrUnsupported)}
	}
	depth, err := inspect(ctx, c.channel)
	if err != nil {
		return Demand{}, wrapError("inspect", c.name, "", err)
	}
	s := c.life.current()
	d := Demand{Backlog: depth.Waiting, InFlight: depth.InFlight + depth.Delayed}
	if s == nil {
		d.Workers = pace.New(pace.Options{Floor: c.life.handlers(), Tolerance: c.o.DelayTolerance}).Wanted(d.Backlog,
			depth.Oldest)
	} else {
		known := s.Demand(d.Backlog, depth.Oldest)
		d.Age, d.Service, d.Workers = known.Age, known.Service, known.Workers
	}
	if depth.InFlight > 0 || depth.Waiting > 0 { // also messages that are handled or wait for a retry need a consumer
		d.Workers = max(d.Workers, 1)
	}
	for _, p := range depth.Partitions {
		d.Partitions = append(d.Partitions, PartitionDemand(p))
	}
	most := max(c.life.handlers(), c.life.most)
	d.Consumers = (d.Workers + most - 1) / most
	return d, nil
}
