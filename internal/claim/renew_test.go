package claim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

const day = 24 * time.Hour

// aged is a store with a lifetime.
type aged struct {
	objects
	life   time.Duration
	folder string // where an object was written to
	wrote  []byte
}

func (s *aged) Lifetime() time.Duration { return s.life }

func (s *aged) Put(_ context.Context, folder string, body io.Reader, size int64) (driver.Location, error) {
	var err error
	s.folder = folder
	if s.wrote, err = io.ReadAll(body); err == nil && size != int64(len(s.wrote)) {
		err = errors.New("another size")
	}
	return driver.Location{Bucket: "b", Key: "new"}, err
}

// copier is a store that copies objects itself.
type copier struct {
	*aged
	age    time.Duration
	copied string
}

func (c *copier) Written(context.Context, driver.Location) (time.Time, error) {
	return time.Now().Add(-c.age), c.err
}

func (c *copier) Copy(_ context.Context, at driver.Location, folder string) (driver.Location, error) {
	c.copied = at.Key + " to " + folder
	return driver.Location{Bucket: "b", Key: "new"}, c.err
}

func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := claim.Pointer{
			At: driver.Location{Bucket: "b", Key: "old"}, Size: 9, SHA256: "ab", Zstd: true, Stored: 3,
		}
		renewed := p
		renewed.At.Key = "new"
		for name, c := range map[string]struct {
			life, age, stays time.Duration
			want             claim.Pointer
		}{
			"half":          {60 * day, 30 * day, 28 * day, p},
			"above half":    {60 * day, 30*day + time.Second, 28 * day, renewed},
			"enough left":   {40 * day, 12 * day, 28 * day, p},
			"too little":    {40 * day, 12*day + time.Second, 28 * day, renewed},
			"future":        {60 * day, -day, 28 * day, p},
			"without limit": {0, 1000 * day, 28 * day, p},
		} {
			store := &copier{&aged{life: c.life}, c.age, ""}
			got, err := claim.Renew(t.Context(), store, "queues/orders", p, c.stays)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
			if c.want != p && store.copied != "old to queues/orders" {
				t.Errorf("%s: copied %q", name, store.copied)
			}
		}
		plain := &aged{objects: objects{body: bytes.NewReader([]byte{1, 2, 3}), size: 3}, life: day}
		got, err := claim.Renew(t.Context(), plain, "queues/orders", p, 0)
		if diff := cmp.Diff(renewed, got); diff != "" || err != nil || len(plain.wrote) != 3 ||
			plain.folder != "queues/orders" {
			t.Errorf("a store that cannot copy: %d bytes in %q, %v (-want +got):\n%s", len(plain.wrote), plain.folder, err,
				diff)
		}
	})
}

func TestRenewOfAMissingObject(t *testing.T) {
	gone := objects{err: &driver.Error{Class: driver.NotFound, Err: errors.New("NoSuchKey")}}
	for name, store := range map[string]driver.Store{
		"copier": &copier{&aged{objects: gone, life: day}, day, ""}, "store": &aged{objects: gone, life: day},
	} {
		_, err := claim.Renew(t.Context(), store, "", claim.Pointer{}, 0)
		var fault *driver.PayloadError
		if !errors.As(err, &fault) || fault.Fault != driver.PayloadMissing || driver.ClassOf(err) != driver.Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}
