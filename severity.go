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

// SeverityPolicy goes by what kind of error a handler returned: errors of input and output, and timeouts of what it
// called, are tried again, maxAttempts times in all, waiting by the backoff in between; all others say that the message
// is at fault, and dead-letter it at once. It follows the marks of [Permanent], [RetryAfter] and [Fatal], which stops the
// consumer.
func SeverityPolicy(maxAttempts int, wait Backoff) Policy {
	retry := RetryPolicy(maxAttempts, wait)
	return func(d *Delivery, err error) Verdict {
		if markOf(err).kind == 0 && !IsTransient(err) {
			return Verdict{Action: ActionReject}
		}
		return retry(d, err)
	}
}

// IsTransient says whether an error is of the kind that a repetition may find gone: input and output that failed, a timeout, a
// connection that ended, a backend that calls its own error passing. What is missing, exists already or is not permitted
// is not.
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
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed):
		return true
	}
	return errors.As(err, &network) || errors.As(err, &call) || errors.As(err, &path)
}
