package snssqs

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

// pointer is a received pointer to a body in the store. It is the driver.Opener of its delivery.
type pointer struct {
	claim.Pointer
	store driver.Store
	alone bool // no other queue has a pointer to the same body
	// finished knows the bodies of handled messages; nil: nobody handles these.
	finished *ledger
}

// Open begins to read the body. If it is missing because another message with the same pointer was handled, the error
// is [driver.ErrFinished].
func (p *pointer) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	body, size, err := claim.Open(ctx, p.store, p.Pointer)
	var fault *driver.PayloadError
	if p.finished != nil && errors.As(err, &fault) && fault.Fault == driver.PayloadMissing &&
		p.finished.handled(p.At) {
		err = &driver.Error{Class: driver.Permanent, Err: driver.ErrFinished}
	}
	return body, size, err
}

// readPointer reads the pointer that the attributes of a message announce.
func (b *Backend) readPointer(text string, attributes map[string]string) (*pointer, error) {
	if b.apart.store == nil {
		return nil, &driver.Error{Class: driver.Permanent, Err: &driver.PayloadError{
			Fault: driver.PayloadPointer,
			Err: errors.New("the message announces a pointer to a body in S3, as Amazon's extended clients send it, and the " +
				"backend has no store: set snssqs.Options.Store (s3store.Open)"),
		}}
	}
	p, err := claim.Parse(text, attributes)
	if err != nil {
		return nil, err
	}
	return &pointer{Pointer: p, store: b.apart.store}, nil
}

// sharedKey reports whether the key of an object says that several queues read it.
func sharedKey(key string) bool {
	parts := strings.Split(key, "/")
	return len(parts) > 2 && parts[len(parts)-3] == topicFolder // topics/NAME/ID
}
