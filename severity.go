package godwit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/godwitmq/godwit/driver"
)

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
