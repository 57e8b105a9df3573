package godwit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/bodies"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/internal/engine"
)

// Verdict is the decision about a delivery. The zero Verdict is Done.
type Verdict struct {
	Action Action
	After  time.Duration // for ActionRetry: the delay of the next attempt
}

// Action is the kind of a Verdict.
type Action uint8

const (
	ActionDone   Action = iota // the message is handled: it is deleted, or its offset is passed
	ActionRetry                // it is delivered again after Verdict.After
	ActionReject               // it is moved to the channel's dead letters, with the reason
	ActionDrop                 // it is deleted without a dead letter, on purpose
	ActionStop                 // it is released, and the consumer ends with the error
)

// String is the action's name in lower case.
func (a Action) String() string {
	names := [...]string{"done", "retry", "reject", "drop", "stop"}
	if int(a) < len(names) {
		return names[a]
	}
	return "unknown action"
}

// Policy decides about a delivery whose handler returned err, which is not nil. Workers may call it concurrently. It is
// not called after a processing timeout (always Reject), after a lost lease, or after a cancellation by shutdown
// (always a release).
type Policy func(d *Delivery, err error) Verdict

// Backoff is the delay after the failure of attempt n, which is at least 1.
type Backoff func(n int) time.Duration

// Exponential returns delays that are evenly distributed below a bound (full jitter). The bound begins with first and
// doubles each time, up to longest.
func Exponential(first, longest time.Duration) Backoff {
	return backoff.Curve{First: first, Max: longest}.Jittered
}

func defaultBackoff() Backoff { return Exponential(defaultBackoffFirst, defaultBackoffLongest) }

// Constant always returns d.
func Constant(d time.Duration) Backoff { return func(int) time.Duration { return d } }

// Steps returns the listed delays, and then the last of them again and again. Without any, it does not delay.
func Steps(waits ...time.Duration) Backoff {
	return func(n int) time.Duration {
		if len(waits) == 0 {
			return 0
		}
		return waits[min(max(n, 1), len(waits))-1]
	}
}

// attemptsAFailure is how many attempts count as one failure if nothing else is known about them: some of them were
// releases.
const attemptsAFailure = 3

// exhausted reports whether a delivery may not be retried any more. The known failures decide. If other processes had
// the message, so many attempts that some of them must have failed decide, too. Attempts do not decide for a consumer
// that releases messages often, on purpose.
func (d *Delivery) exhausted(maxAttempts int) bool {
	if d.Failures >= maxAttempts {
		return true
	}
	if d.h != nil && d.h.o.releasesOften() {
		return d.nearLimit
	}
	return d.Attempt >= attemptsAFailure*maxAttempts
}

// RetryPolicy retries with a backoff, and rejects after maxAttempts failures in this consumer, or after three times as
// many attempts. It follows the marks [Permanent], [RetryAfter] and [Fatal]. It is the default policy. If maxAttempts
// is 0, it is 3; if wait is nil, it is 5 s doubling up to 10 min, as in [ConsumerOptions].
func RetryPolicy(maxAttempts int, wait Backoff) Policy {
	setDefault(&maxAttempts, defaultMaxAttempts)
	if wait == nil {
		wait = defaultBackoff()
	}
	return func(d *Delivery, err error) Verdict {
		m := markOf(err)
		d.spent = d.exhausted(maxAttempts)
		switch {
		case m.kind == markFatal:
			return Verdict{Action: ActionStop}
		case m.kind == markPermanent, d.spent:
			return Verdict{Action: ActionReject}
		case m.kind == markRetry:
			return Verdict{Action: ActionRetry, After: m.after}
		}
		return Verdict{Action: ActionRetry, After: wait(d.Attempt)}
	}
}

func kindOf(err error, d *Delivery, maxAttempts int) string {
	var p *PanicError
	var u *undecodable
	var held *engine.HeldTooLongError
	var received *engine.ReceivedTooOftenError
	exhausted := d.spent || d.exhausted(maxAttempts)
	var large *oversized
	switch {
	case bodies.FaultOf(err) != nil:
		return bodies.FaultOf(err).Fault.String()
	case errors.As(err, &large):
		return deathkind.Oversized
	case d.expired || errors.Is(err, errExpired):
		return deathkind.Expired
	case errors.As(err, &held):
		return deathkind.Blocked
	case errors.As(err, &received):
		return deathkind.Exhausted
	case errors.As(err, &u):
		return deathkind.Undecodable
	case errors.Is(err, ErrProcessingTimeout):
		return deathkind.Timeout
	case markOf(err).kind == markPermanent:
		return deathkind.Permanent
	case exhausted && errors.As(err, &p):
		return deathkind.Panic
	case exhausted:
		return deathkind.Exhausted
	}
	return deathkind.Rejected
}

// SeverityPolicy decides by the kind of a handler's error. Errors of input and output, and timeouts of calls that the
// handler made, are retried, for up to maxAttempts attempts, with the backoff in between. All other errors are assumed
// to be caused by the message, which is rejected. It follows the marks [Permanent], [RetryAfter] and [Fatal], which
// stops the consumer.
func SeverityPolicy(maxAttempts int, wait Backoff) Policy {
	retry := RetryPolicy(maxAttempts, wait)
	return func(d *Delivery, err error) Verdict {
		if markOf(err).kind == 0 && !IsTransient(err) {
			return Verdict{Action: ActionReject}
		}
		return retry(d, err)
	}
}

// IsTransient reports whether an error may be gone at the next attempt: failed input or output, a timeout, a closed
// connection, or an error that a backend classifies as temporary. Errors about missing or existing files, and about
// permissions, are not transient.
func IsTransient(err error) bool {
	var network net.Error
	var call syscall.Errno
	var path *fs.PathError
	var backend *driver.Error
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrPermission):
		return false
	case errors.As(err, &backend):
		return backend.Class.Passing()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed):
		return true
	}
	return errors.As(err, &network) || errors.As(err, &call) || errors.As(err, &path)
}

// engineVerdict converts a verdict for the engine, whose first actions are the same. An unknown action is done.
func engineVerdict(v Verdict) engine.Verdict {
	if v.Action > ActionStop {
		v.Action = ActionDone
	}
	return engine.Verdict{Action: engine.Action(v.Action), After: v.After}
}

// verdictOf converts the engine's verdict. A released delivery has none.
func verdictOf(v engine.Verdict) Verdict {
	switch v.Action {
	case engine.ActionRetry, engine.ActionHold:
		return Verdict{Action: ActionRetry, After: v.After}
	case engine.ActionRelease:
		return Verdict{}
	}
	return Verdict{Action: Action(v.Action)}
}
