package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

const (
	// keepsDecisions is how long a decision stays. One about a message is written when the message is sent, or later,
	// and is needed until four weeks after the message is due. So a message can wait for a year.
	keepsDecisions = 400 * day
	// mostDecided bounds a decision that is read.
	mostDecided = 1 << 10
)

// Decisions are small objects in a bucket of S3. Each is written once, by conditional writes (If-None-Match), so that
// all programs see the same text for a name. They are the Decisions of package snssqs, for messages that can be
// cancelled. They need the permissions s3:PutObject and s3:GetObject below the prefix, and for Ensure those of a
// [Store].
type Decisions struct {
	store *Store

	mu      sync.Mutex
	ensured bool
}

// OpenDecisions creates the client; it makes no request. Options.Prefix is required; it must not be below the prefix of
// a [Store], whose lifecycle would delete decisions too early. Lifetime and Sources stay zero: a decision is kept for
// 400 days.
func OpenDecisions(ctx context.Context, o *Options) (*Decisions, error) {
	opts := *cmp.Or(o, &Options{})
	switch {
	case opts.Prefix == "":
		return nil, errors.New("s3store: Options.Prefix of decisions is empty: set one of their own, such as " +
			"decisions/, because the lifecycle of other objects must not delete them")
	case opts.Lifetime != 0 || len(opts.Sources) > 0:
		return nil, errors.New("s3store: Options.Lifetime and Sources are for bodies: decisions stay for 400 days, " +
			"and have no sources: remove them")
	}
	opts.Lifetime = keepsDecisions
	store, err := Open(ctx, &opts)
	if err != nil {
		return nil, err
	}
	return &Decisions{store: store}, nil
}

// Ensure creates the bucket and the rule of its lifecycle as that of a [Store] does. It is an error if another rule
// deletes decisions earlier.
func (d *Decisions) Ensure(ctx context.Context, mode driver.Mode) error {
	if mode == driver.Never {
		return nil
	}
	if err := d.store.Ensure(ctx, mode); err != nil {
		return err
	}
	d.mu.Lock()
	ensured := d.ensured
	d.mu.Unlock()
	if ensured {
		return nil
	}
	place, err := d.store.Look(ctx)
	if err != nil {
		return err
	}
	if place.Days > 0 && time.Duration(place.Days)*day < keepsDecisions {
		return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("bucket %s: its lifecycle deletes the "+
			"decisions below %s after %d days, and they are needed for %d: use another prefix or another bucket",
			place.Bucket, place.Prefix, place.Days, keepsDecisions/day)}
	}
	d.mu.Lock()
	d.ensured = true
	d.mu.Unlock()
	return nil
}

// Lifetime is how long a decision stays.
func (d *Decisions) Lifetime() time.Duration { return d.store.Lifetime() }

// String is where the decisions are.
func (d *Decisions) String() string { return "s3://" + d.store.o.Bucket + "/" + d.store.o.Prefix }

// Decide writes a text for a name, unless there is one, and returns the text that there is then. If the answer of S3 is
// lost, the write is repeated for 20 s at most. With an error, either may be the case: the text was written, or not.
func (d *Decisions) Decide(ctx context.Context, name, text string) (decided string, err error) {
	if name == "" || !plainKey(name) || len(text) > mostDecided {
		return "", &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
			"%q cannot be the name of a decision of %d bytes", name, len(text))}
	}
	ctx, cancel := within(ctx, 0)
	defer cancel()
	key := d.store.o.Prefix + name
	for try := 1; ; try++ {
		in := &s3.PutObjectInput{
			Bucket: &d.store.o.Bucket, Key: &key, Body: strings.NewReader(text), IfNoneMatch: once(),
		}
		in.ServerSideEncryption, in.SSEKMSKeyId, in.BucketKeyEnabled = d.store.encryption()
		_, err = d.store.s3.PutObject(ctx, in, repeating())
		switch code := codeOf(err); {
		case err == nil:
			return text, nil
		case code == "PreconditionFailed":
			// It may be the text of this call, whose first answer was lost. Only the object says that.
			decided, err = d.read(ctx, key)
			if driver.ClassOf(err) != driver.NotFound {
				return decided, err
			}
		case code != "ConditionalRequestConflict": // another write runs at the same time
			err = permission(classify(err), "s3:PutObject and s3:GetObject")
			return "", fmt.Errorf("decide %s in %s: %w", name, d, err)
		}
		if backoff.Sleep(ctx, backoff.Curve{First: 20 * time.Millisecond, Max: longestPause}.Jittered(try)) != nil {
			err = fmt.Errorf("decide %s in %s: %w", name, d, err)
			return "", &driver.Error{Class: driver.Transient, Err: err}
		}
	}
}

func (d *Decisions) read(ctx context.Context, key string) (string, error) {
	out, err := d.store.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &d.store.o.Bucket, Key: &key}, repeating())
	if err != nil {
		return "", fmt.Errorf("read the decision %s of bucket %s: %w", key, d.store.o.Bucket,
			permission(classify(err), "s3:GetObject"))
	}
	text, err := io.ReadAll(io.LimitReader(out.Body, mostDecided))
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return "", fmt.Errorf("read the decision %s of bucket %s: %w", key, d.store.o.Bucket, classify(err))
	}
	return string(text), nil
}
