package godwit

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/engine"
)

// Verdict says what becomes of a delivery. The zero Verdict is Done.
type Verdict struct {
	Action Action
	After  time.Duration // Retry: how long until the next attempt
}

// Action is the what of a Verdict.
type Action uint8

const (
	ActionDone   Action = iota // handled: it is deleted, or marked finished
	ActionRetry                // it comes back after Verdict.After
	ActionReject               // it is copied to the channel's dead letters with the reason, then finished
	ActionDrop                 // it is finished unhandled, on purpose
	ActionStop                 // it is given back, and the consumer ends with the error
)

// String is the action's name in lower case.
func (a Action) String() string {
	names := [...]string{"done", "retry", "reject", "drop", "stop"}
	if int(a) < len(names) {
		return names[a]
	}
	return "unknown action"
}

// Policy decides on a delivery whose handler returned err, which is not nil. It may be called by many workers at once.
// It is not asked when the processing timeout ended the handler (that is always Reject), when the lease was lost, or
// when shutdown cancelled it (that is given back untouched).
type Policy func(d *Delivery, err error) Verdict

// Backoff is how long to wait after attempt number n, which is at least 1, has failed.
type Backoff func(n int) time.Duration

// Exponential waits first, doubling each time up to longest, and draws evenly below that (full jitter).
func Exponential(first, longest time.Duration) Backoff {
	return backoff.Curve{First: first, Max: longest}.Jittered
}

func defaultBackoff() Backoff { return Exponential(defaultBackoffFirst, defaultBackoffLongest) }

// Constant waits d each time.
func Constant(d time.Duration) Backoff { return func(int) time.Duration { return d } }

// Schedule waits what is listed, then the last of it again and again. An empty schedule does not wait.
func Schedule(waits ...time.Duration) Backoff {
	return func(n int) time.Duration {
		if len(waits) == 0 {
			return 0
		}
		return waits[min(max(n, 1), len(waits))-1]
	}
}

// attemptsAFailure is how many attempts count as one failure where nothing else is known of them: some were releases.
const attemptsAFailure = 3

// exhausted says whether a delivery has failed as often as it may. Failures that are known decide; where other processes had
// the message, so many attempts that some of them must have failed do as well. A consumer that releases often, on purpose,
// makes receives mean nothing.
func (d *Delivery) exhausted(maxAttempts int) bool {
	if d.Failures >= maxAttempts {
		return true
	}
	if d.c != nil && d.c.o.releasesOften() {
		return d.nearLimit
	}
	return d.Attempt >= attemptsAFailure*maxAttempts
}

// RetryPolicy tries maxAttempts times, waiting by the backoff in between, then rejects: after so many failures that the
// consumer knows of, or three times as many attempts. It follows the marks of
// [Permanent], [RetryAfter] and [Fatal]. It is the policy of a consumer that names none of its own. maxAttempts 0 and
// wait nil mean what they mean in [ConsumerOptions]: 3 times, and 5 s doubling up to 10 min.
func RetryPolicy(maxAttempts int, wait Backoff) Policy {
	setDefault(&maxAttempts, defaultMaxAttempts)
	if wait == nil {
		wait = defaultBackoff()
	}
	return func(d *Delivery, err error) Verdict {
		m := markOf(err)
		switch {
		case m.kind == markFatal:
			return Verdict{Action: ActionStop}
		case m.kind == markPermanent, d.exhausted(maxAttempts):
			return Verdict{Action: ActionReject}
		case m.kind == markRetry:
			return Verdict{Action: ActionRetry, After: m.after}
		}
		return Verdict{Action: ActionRetry, After: wait(d.Attempt)}
	}
}

// Kinds of death, as dead letters and reports name them.
const (
	kindExhausted   = "exhausted"
	kindPermanent   = "permanent"
	kindRejected    = "rejected"
	kindTimeout     = "timeout"
	kindUndecodable = "undecodable"
	kindPanic       = "panic"
	kindBlocked     = "blocked"
)

func kindOf(err error, d *Delivery, maxAttempts int) string {
	var p *PanicError
	var u *undecodable
	var held *engine.HeldTooLongError
	var received *engine.ReceivedTooOftenError
	exhausted := d.exhausted(maxAttempts)
	switch {
	case errors.As(err, &held):
		return kindBlocked
	case errors.As(err, &received):
		return kindExhausted
	case errors.As(err, &u):
		return kindUndecodable
	case errors.Is(err, ErrProcessingTimeout):
		return kindTimeout
	case markOf(err).kind == markPermanent:
		return kindPermanent
	case exhausted && errors.As(err, &p):
		return kindPanic
	case exhausted:
		return kindExhausted
	}
	return kindRejected
}
