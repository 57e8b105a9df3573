package wire

import (
	"context"
	"errors"
	"io"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

// pointer is a received pointer to a body in the store. It is the driver.Opener of its delivery.
type pointer struct {
	claim.Pointer
	store driver.Store
	Alone bool // no other queue has a pointer to the same body
	// handled reports whether a message with this body was handled; nil: nobody handles these.
	handled func(body driver.Location) bool
}

// Open begins to read the body. If it is missing because another message with the same pointer was handled, the error
// is [driver.ErrFinished].
func (p *pointer) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	body, size, err := claim.Open(ctx, p.store, p.Pointer)
	var fault *driver.PayloadError
	if p.handled != nil && errors.As(err, &fault) && fault.Fault == driver.PayloadMissing &&
		p.handled(p.At) {
		err = &driver.Error{Class: driver.Permanent, Err: driver.ErrFinished}
	}
	return body, size, err
}
