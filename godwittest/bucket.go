package godwittest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Bucket is a bucket on the embedded AWS, where an application keeps payloads. It is for inspection and faults; the
// bucket itself need not exist yet.
type Bucket struct {
	h    *Harness
	name string
}

// Bucket returns a bucket by its name.
func (h *Harness) Bucket(name string) *Bucket {
	h.t.Helper()
	h.aws("the bucket " + name)
	return &Bucket{h: h, name: name}
}

// Object is an object in a bucket.
type Object struct {
	Key      string
	Size     int64
	Metadata map[string]string // by lower-case name
	Tags     map[string]string
	Modified time.Time
	Expires  time.Time // when the bucket's lifecycle removes it; zero: never
}

// Objects returns the objects whose keys begin with a prefix, in order of keys. A bucket that does not exist has none.
func (b *Bucket) Objects(prefix string) []Object {
	model := b.h.aws("the bucket " + b.name).server.S3().Bucket(b.name)
	if model == nil {
		return nil
	}
	var all []Object
	settings := model.Settings()
	count, _ := model.Count()
	for _, o := range model.List(bucket.Query{Prefix: prefix, Limit: count}).Objects {
		one := Object{Key: o.Key, Size: o.Size(), Metadata: o.Metadata, Modified: o.Modified, Tags: map[string]string{}}
		for _, t := range o.Tags {
			one.Tags[t.Key] = t.Value
		}
		one.Expires, _, _ = settings.Expiry(o)
		all = append(all, one)
	}
	return all
}

// AssertObjects fails the test unless the keys that begin with a prefix are exactly these, in any order.
func (b *Bucket) AssertObjects(prefix string, keys ...string) {
	b.h.t.Helper()
	b.h.assert(func() string {
		var got []string
		for _, o := range b.Objects(prefix) {
			got = append(got, o.Key)
		}
		if diff := difference(keys, got); diff != "" {
			return fmt.Sprintf("objects %s… of the bucket %s are not the expected ones:\n%s", prefix, b.name, diff)
		}
		return ""
	})
}

// Transfers is a kind of call about the objects of a bucket.
type Transfers string

const (
	Uploads   Transfers = "uploads"   // of objects and of their parts, and copies
	Downloads Transfers = "downloads" // of objects and of what is known of them
	Removals  Transfers = "removals"  // by the application, not by a lifecycle
)

func (c Transfers) actions() []string {
	switch c {
	case Uploads:
		return []string{
			"s3.PutObject", "s3.CopyObject", "s3.CreateMultipartUpload", "s3.UploadPart", "s3.UploadPartCopy",
			"s3.CompleteMultipartUpload",
		}
	case Downloads:
		return []string{"s3.GetObject", "s3.HeadObject"}
	case Removals:
		return []string{"s3.DeleteObject", "s3.DeleteObjects"}
	}
	return nil
}

// Throttle refuses the next n calls as too frequent.
func (b *Bucket) Throttle(c Transfers, prefix string, n int) *Fault {
	b.h.t.Helper()
	return b.fault(fmt.Sprintf("throttle the next %d", n), c, prefix, n, localaws.Outcome{
		Err: &wire.Error{Code: "SlowDown", Message: "Please reduce your request rate.", Status: 503},
	})
}

// Fail answers the next n calls with an internal error of the service; they take no effect.
func (b *Bucket) Fail(c Transfers, prefix string, n int) *Fault {
	b.h.t.Helper()
	return b.fault(fmt.Sprintf("fail the next %d", n), c, prefix, n, localaws.Outcome{Err: &wire.Error{
		Code: "InternalError", Message: "We encountered an internal error. Please try again.", Status: 500,
	}})
}

// LoseAnswers closes the connection of the next n calls after they took effect.
func (b *Bucket) LoseAnswers(c Transfers, prefix string, n int) *Fault {
	b.h.t.Helper()
	return b.fault(fmt.Sprintf("lose the answers of the next %d", n), c, prefix, n, localaws.Outcome{DropAfter: true})
}

// Deny refuses calls for lack of a permission, until the fault is lifted.
func (b *Bucket) Deny(c Transfers, prefix string) *Fault {
	b.h.t.Helper()
	return b.fault("deny", c, prefix, always, localaws.Outcome{
		Err: &wire.Error{Code: "AccessDenied", Message: "Access Denied", Status: 403},
	})
}

// Break closes the connection of the next n uploads or downloads in the middle of their bodies, after a number of
// bytes. An upload that breaks stores nothing. A store of package s3store requests the rest of a download that breaks,
// which is another download; it fails when four break within 1 MiB. A body that is not longer is not affected.
func (b *Bucket) Break(c Transfers, prefix string, n int, after int64) *Fault {
	b.h.t.Helper()
	text := fmt.Sprintf("break the next %d", n)
	actions, what := []string{"s3.GetObject"}, localaws.Outcome{BreakResponse: after}
	switch {
	case after < 1:
		b.h.t.Fatalf("%s %s of the bucket %s: the number of bytes must be at least 1", text, c, b.name)
	case c == Uploads:
		actions, what = []string{"s3.PutObject", "s3.UploadPart"}, localaws.Outcome{BreakRequest: after}
	case c != Downloads:
		b.h.t.Fatalf("%s %s of the bucket %s: only Uploads and Downloads have bodies", text, c, b.name)
	}
	return b.inject(text, c, prefix, n, actions, what)
}

func (b *Bucket) fault(text string, c Transfers, prefix string, n int, what localaws.Outcome) *Fault {
	b.h.t.Helper()
	return b.inject(text, c, prefix, n, c.actions(), what)
}

func (b *Bucket) inject(text string, c Transfers, prefix string, n int, actions []string,
	what localaws.Outcome,
) *Fault {
	b.h.t.Helper()
	text = fmt.Sprintf("%s %s of %s… in the bucket %s", text, c, prefix, b.name)
	switch {
	case n < 1:
		b.h.t.Fatalf("%s: the number of calls must be at least 1", text)
	case len(actions) == 0:
		b.h.t.Fatalf("%s: Transfers must be Uploads, Downloads or Removals", text)
	}
	return b.h.control(text, n, actions, func(r *localaws.Request) bool { return b.concerns(r, prefix) }, what)
}

// concerns reports whether a call is about an object of the bucket whose key begins with a prefix.
func (b *Bucket) concerns(r *localaws.Request, prefix string) bool {
	v := reflect.Indirect(reflect.ValueOf(r.Input))
	if v.FieldByName("Bucket").String() != b.name {
		return false
	}
	if key := v.FieldByName("Key"); key.IsValid() {
		return strings.HasPrefix(key.String(), prefix)
	}
	in, ok := r.Input.(*s3.DeleteObjectsInput)
	return ok && in.Delete != nil && slices.ContainsFunc(in.Delete.Object, func(e s3.DeleteEntry) bool {
		return strings.HasPrefix(e.Key, prefix)
	})
}
