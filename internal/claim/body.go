package claim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/godwitmq/godwit/driver"
)

// Open begins to read the body of a pointer. It has the errors of a driver.Opener.
func Open(ctx context.Context, store driver.Store, p Pointer) (io.ReadCloser, int64, error) {
	src, size, err := store.Open(ctx, p.At)
	if err != nil {
		return nil, 0, missing(err)
	}
	o := &object{src: src, size: p.Size}
	if p.Zstd {
		o.size = p.Stored
	}
	o.left = o.size
	b := &body{src: o, p: p, left: p.Size}
	if err = compare(size, o.size); err == nil && p.Zstd {
		err = b.unpack(o)
	}
	if err != nil {
		return nil, 0, errors.Join(err, src.Close())
	}
	if p.SHA256 != "" {
		b.sum = sha256.New()
	}
	return b, p.Size, nil
}

// missing turns the store's error for an object that is not there into one that no repetition can help.
func missing(err error) error {
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	return &driver.Error{Class: driver.Permanent, Err: &driver.PayloadError{
		Fault: driver.PayloadMissing,
		Err: fmt.Errorf("the store has no such object: it was deleted, by another copy of the message or because its "+
			"lifetime is over: %w", err),
	}}
}

// compare compares the size of an object with the announced one.
func compare(size, announced int64) error {
	switch {
	case size < announced:
		return fault(driver.PayloadShort, "the object has %d bytes, and the message announces %d", size, announced)
	case size > announced:
		return fault(driver.PayloadLong, "the object has %d bytes, and the message announces %d", size, announced)
	}
	return nil
}

// object reads an object as it is in the store.
type object struct {
	src  io.ReadCloser
	size int64 // announced
	left int64 // bytes that are still to come
	err  error // of an earlier Read
}

// Read implements io.Reader.
func (o *object) Read(to []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.src.Read(to)
	if o.left -= int64(n); o.left < 0 {
		o.err = compare(o.size-o.left, o.size)
		return 0, o.err
	}
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		o.err = broken(err)
	case o.left > 0: // the store said that it had all of them
		o.err = broken(io.ErrUnexpectedEOF)
	default:
		o.err = io.EOF
	}
	return n, o.err
}

// Close implements io.Closer.
func (o *object) Close() error { return o.src.Close() }

// body reads the body in an object, and compares it with its pointer at the end.
type body struct {
	src  io.ReadCloser
	p    Pointer
	left int64     // bytes that are still to come
	sum  hash.Hash // nil: the pointer has no hash
	err  error     // of an earlier Read
}

// unpack makes the body that of a compressed object.
func (b *body) unpack(o *object) error {
	if err := credible(b.p.Size, b.p.Stored); err != nil {
		return err
	}
	u, err := newUnpacker(o)
	if err != nil {
		return err
	}
	b.src = u
	return nil
}

// Read implements io.Reader.
func (b *body) Read(to []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.src.Read(to)
	if b.left -= int64(n); b.left < 0 {
		b.err = fault(driver.PayloadLong, "the body has more than the %d bytes that the message announces", b.p.Size)
		return 0, b.err
	}
	if b.sum != nil {
		_, _ = b.sum.Write(to[:n]) // a hash cannot fail
	}
	switch {
	case err == nil, !errors.Is(err, io.EOF):
		b.err = err
	case b.left > 0: // of a compressed object
		b.err = fault(driver.PayloadShort, "the body has %d bytes, and the message announces %d", b.p.Size-b.left,
			b.p.Size)
	case b.sum != nil && hex.EncodeToString(b.sum.Sum(nil)) != b.p.SHA256:
		b.err = fault(driver.PayloadAltered, "the SHA-256 of the body differs from the one that the message announces")
	default:
		b.err = io.EOF
	}
	return n, b.err
}

// broken is the error of a body that ended early: the object is complete, so another attempt may succeed.
func broken(err error) error {
	var known *driver.Error
	if errors.As(err, &known) {
		return err
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("read the object: %w", err)}
}

// Close implements io.Closer.
func (b *body) Close() error { return b.src.Close() }
