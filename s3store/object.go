package s3store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// resumesMost is how often the reading of an object is resumed while it makes less progress than resumeProgress. A
	// store whose connections break all the time is an outage, which is the caller's business.
	resumesMost    = 3
	resumeProgress = 1 << 20
)

// object is the body of an open object. If the connection breaks, the rest is requested, so that a handler that has
// read most of a large body need not begin again.
type object struct {
	size  int64                                                 // negative: unknown, so it cannot be resumed
	again func(from int64) (*s3.GetObjectOutput, func(), error) // requests the rest

	at     int64 // bytes that were read
	broken error // of the last Read, which has returned bytes
	breaks int   // since the last progress
	since  int64 // at, at the last progress

	mu     sync.Mutex
	body   io.ReadCloser
	end    func()
	closed bool
}

// Read implements io.Reader.
func (o *object) Read(to []byte) (int, error) {
	for {
		err := o.broken
		if err == nil {
			var n int
			n, err = o.current().Read(to)
			if o.at += int64(n); o.at-o.since >= resumeProgress {
				o.since, o.breaks = o.at, 0
			}
			if err == nil || errors.Is(err, io.EOF) || o.at >= o.size {
				return n, err
			}
			if o.broken = err; n > 0 {
				return n, nil
			}
		}
		if why := o.resume(); why != nil {
			return 0, fmt.Errorf("%w (%v)", err, why) //nolint:errorlint // the class is the connection's
		}
		o.broken = nil
	}
}

func (o *object) current() io.Reader {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.body
}

// resume requests the rest of the object.
func (o *object) resume() error {
	if o.breaks++; o.breaks > resumesMost {
		return fmt.Errorf("the connection broke %d times within %d bytes", o.breaks, resumeProgress)
	}
	out, end, err := o.again(o.at)
	if err != nil {
		return fmt.Errorf("the rest, from byte %d on, cannot be read: %w", o.at, err)
	}
	if !strings.HasPrefix(deref(out.ContentRange), fmt.Sprintf("bytes %d-", o.at)) {
		end()
		return errors.Join(errors.New("the store cannot read a part of an object"), out.Body.Close())
	}
	if !o.replace(out.Body, end) {
		return os.ErrClosed
	}
	return nil
}

// replace closes the body whose connection is broken, and reads another one; false: the object was closed, and so is
// the new body.
func (o *object) replace(body io.ReadCloser, end func()) bool {
	o.mu.Lock()
	closed := o.closed
	if !closed {
		o.body, body = body, o.body
		o.end, end = end, o.end
	}
	o.mu.Unlock()
	end()
	_ = body.Close() // a broken connection has nothing to say
	return !closed
}

// Close ends the request, also in the middle of the object.
func (o *object) Close() error {
	o.mu.Lock()
	o.closed = true
	body, end := o.body, o.end
	o.mu.Unlock()
	end()
	return body.Close()
}
