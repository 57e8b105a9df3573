package bodies

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// tryAgain is how long a message waits whose body could not be read because of its store.
var tryAgain = backoff.Curve{First: 2 * time.Second, Max: time.Minute}

// Body is the body of a message that is in a store.
type Body struct {
	Opener driver.Opener
	Size   int64        // as its sender said
	Tries  atomic.Int32 // receives, and reads that have failed because of the store
}

// Error is an error of the store of a body. It wraps the error of the backend, which has the class.
type Error struct {
	Err  error
	Wait time.Duration // until the next attempt, after a passing error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error of the backend.
func (e *Error) Unwrap() error { return e.Err }

// Passing reports whether a repetition may succeed.
func (e *Error) Passing() bool { return driver.ClassOf(e.Err).Passing() }

// FaultOf is why a body can never be read; nil: the error is another one.
func FaultOf(err error) *driver.PayloadError {
	var fault *driver.PayloadError
	if errors.As(err, &fault) {
		return fault
	}
	return nil
}
