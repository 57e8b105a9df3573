package driver

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed is answered by everything that was closed.
	ErrClosed = errors.New("closed")
	// ErrLost marks the entry of a delivery that is no longer ours.
	ErrLost = errors.New("the delivery is no longer ours")
)

// Class says what an error asks of its caller.
type Class uint8

const (
	Permanent Class = iota // repeating it cannot help
	Transient              // repeating it may help
	Throttled              // repeating it helps, later and less often
	NotFound               // the queue, topic or key does not exist
	TooLarge               // the message is larger than the channel takes
	Denied                 // credentials or policy forbid it
)

// String is the class's name.
func (c Class) String() string {
	names := [...]string{"permanent", "transient", "throttled", "not found", "too large", "denied"}
	if int(c) < len(names) {
		return names[c]
	}
	return "unknown class"
}

// Passing says that a repetition may succeed.
func (c Class) Passing() bool { return c == Transient || c == Throttled }

// Error classifies an error of a service. The service's own error stays reachable by errors.As.
type Error struct {
	Class Class
	Err   error
	After time.Duration // the service said when to come back; 0: it did not
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of err. What no backend has classified is [Permanent].
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Permanent
}

// BatchError answers a batch of which some entries failed: their index and why. The others succeeded.
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

// Unwrap makes the entries' errors reachable by errors.Is and errors.As.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for _, err := range e.Errs {
		errs = append(errs, err)
	}
	return errs
}
