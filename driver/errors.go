package driver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

var (
	// ErrClosed is returned by every method of a closed backend, sender or receiver.
	ErrClosed = errors.New("closed")
	// ErrLost marks the entry of a delivery whose lease or source is lost.
	ErrLost = errors.New("the delivery is no longer ours: its lease has ended or its source was lost")
	// ErrPaused is returned by Receive while the channel is paused at the service, by [Operations].Pause, in an error
	// of class [Transient]. The receiver stays usable, and the core polls again after a while.
	ErrPaused = errors.New("the channel is paused at the service")
	// ErrFinished is returned by an [Opener] if the body is gone because another copy of the message, with the same
	// body, was finished by this receiver. The core finishes the delivery without a handler.
	ErrFinished = errors.New("another copy of the message was finished, and its body deleted")
	// ErrTooFewBrokers is in the error of a Plan for more replicas than a cluster has brokers.
	ErrTooFewBrokers = errors.New("more replicas than brokers")
	// ErrConflict is returned by a conditional write if another program has written since: read again, and repeat.
	ErrConflict = errors.New("another program has written it meanwhile")
)

// Class says what the caller can do about an error.
type Class uint8

const (
	Permanent Class = iota // repeating the call cannot help
	Transient              // repeating the call may help
	Throttled              // repeating the call helps if it happens later and less often
	NotFound               // the queue, topic or key does not exist
	TooLarge               // the message is larger than the channel takes
	Denied                 // the credentials or a policy forbid the call
)

// String returns the name of the class.
func (c Class) String() string {
	names := [...]string{"permanent", "transient", "throttled", "not found", "too large", "denied"}
	if int(c) < len(names) {
		return names[c]
	}
	return "unknown class"
}

// Passing reports whether repeating the call may succeed.
func (c Class) Passing() bool { return c == Transient || c == Throttled }

// Error adds a class to an error of a service. The service's own error stays reachable by errors.As.
type Error struct {
	Class Class
	Err   error
	After time.Duration // how long the service asks the caller to wait; 0: the service did not say
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err. An error that no backend has classified is [Permanent].
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Permanent
}

// UnsettledError is returned by the Close of a Receiver that noted verdicts in memory (Finisher) and could not tell the
// service: these messages are delivered again, although their settlement was reported as done.
type UnsettledError struct {
	Count int
	Err   error // why
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("%d finished messages are delivered again, because the service was not told: %v", e.Count, e.Err)
}
func (e *UnsettledError) Unwrap() error { return e.Err }

// BatchError reports the entries of a batch that failed, by index. All other entries succeeded.
type BatchError struct{ Errs map[int]error }

func (e *BatchError) Error() string {
	first := -1
	for i := range e.Errs {
		if first < 0 || i < first {
			first = i
		}
	}
	if first < 0 {
		return "batch: no entry failed"
	}
	if len(e.Errs) == 1 {
		return fmt.Sprintf("batch: entry %d: %v", first, e.Errs[first])
	}
	return fmt.Sprintf("batch: %d entries failed, the first is entry %d: %v", len(e.Errs), first, e.Errs[first])
}

// Unwrap makes the errors of the entries reachable by errors.Is and errors.As.
func (e *BatchError) Unwrap() []error {
	return slices.Collect(maps.Values(e.Errs))
}
