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
}

// Open begins to read the body.
func (p *pointer) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	return claim.Open(ctx, p.store, p.Pointer)
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
