package claim_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

// objects is a store of one object.
type objects struct {
	driver.Store
	body io.Reader
	size int64
	err  error
}

func (o *objects) Open(context.Context, driver.Location) (io.ReadCloser, int64, error) {
	if o.err != nil {
		return nil, 0, o.err
	}
	return io.NopCloser(o.body), o.size, nil
}

func TestBodiesAreCompared(t *testing.T) {
	text := []byte("a large body")
	sum := sha256.Sum256(text)
	good := claim.Pointer{Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	resized := func(by int64) claim.Pointer { p := good; p.Size += by; return p }
	fault := func(f driver.PayloadFault) *driver.PayloadFault { return &f }
	whole := func() *objects { return &objects{body: bytes.NewReader(text), size: int64(len(text))} }
	for _, c := range []struct {
		name  string
		store *objects
		p     claim.Pointer
		class driver.Class
		fault *driver.PayloadFault // nil: none
		ok    bool
	}{
		{name: "whole", store: whole(), p: good, ok: true},
		{name: "without a hash", store: whole(), p: claim.Pointer{Size: good.Size}, ok: true},
		{
			name: "in pieces", store: &objects{body: iotest.DataErrReader(bytes.NewReader(text)), size: good.Size},
			p: good, ok: true,
		},
		{name: "short", store: whole(), p: resized(1), fault: fault(driver.PayloadShort)},
		{name: "long", store: whole(), p: resized(-1), fault: fault(driver.PayloadLong)},
		{
			name: "altered", store: &objects{body: bytes.NewReader(bytes.ToUpper(text)), size: good.Size}, p: good,
			fault: fault(driver.PayloadAltered),
		},
		{
			name:  "missing",
			store: &objects{err: &driver.Error{Class: driver.NotFound, Err: errors.New("NoSuchKey")}},
			p:     good, fault: fault(driver.PayloadMissing),
		},
		{
			name:  "refused",
			store: &objects{err: &driver.Error{Class: driver.Denied, Err: errors.New("AccessDenied")}},
			p:     good, class: driver.Denied,
		},
		{
			name: "more than its size", store: &objects{body: bytes.NewReader(append(text, 'x')), size: good.Size},
			p: good, fault: fault(driver.PayloadLong),
		},
		{
			name: "cut off", store: &objects{body: bytes.NewReader(text[1:]), size: good.Size}, p: good,
			class: driver.Transient,
		},
		{
			name: "broken", p: good, class: driver.Transient,
			store: &objects{
				body: io.MultiReader(bytes.NewReader(text[:3]), iotest.ErrReader(io.ErrClosedPipe)), size: good.Size,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(c.store, c.p)
			if c.ok {
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			var payload *driver.PayloadError
			if errors.As(err, &payload) != (c.fault != nil) || err == nil || driver.ClassOf(err) != c.class {
				t.Fatalf("%v, of class %s", err, driver.ClassOf(err))
			}
			if c.fault != nil && payload.Fault != *c.fault {
				t.Errorf("the fault is %s, want %s", payload.Fault, *c.fault)
			}
		})
	}
}

func read(store driver.Store, p claim.Pointer) ([]byte, error) {
	r, _, err := claim.Open(context.Background(), store, p)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(r)
	return all, errors.Join(err, r.Close())
}
