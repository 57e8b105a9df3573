package localaws

import (
	"net/http"
	"slices"
	"time"

	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// bucketView is a bucket in the list of buckets.
type bucketView struct {
	Name          string             `json:"name"`
	ARN           string             `json:"arn"`
	Account       string             `json:"account"`
	Region        string             `json:"region"`
	Created       time.Time          `json:"created"`
	Objects       int                `json:"objects"`
	Bytes         int64              `json:"bytes"`
	Uploads       []uploadView       `json:"uploads,omitempty"`
	Tags          map[string]string  `json:"tags,omitempty"`
	Lifecycle     int                `json:"lifecycleRules,omitempty"`
	Notifications []notificationView `json:"notifications,omitempty"`
}

// uploadView is a multipart upload that is not complete.
type uploadView struct {
	ID        string    `json:"id"`
	Key       string    `json:"key"`
	Initiated time.Time `json:"initiated"`
}

// notificationView is a destination of a bucket's events.
type notificationView struct {
	Destination string   `json:"destination"`
	Events      []string `json:"events"`
	Prefix      string   `json:"prefix,omitempty"`
	Suffix      string   `json:"suffix,omitempty"`
}

func listBuckets(s *Server, p page, r *http.Request) (map[string]any, error) {
	chosen, err := s.places.choice(r)
	if err != nil {
		return nil, err
	}
	buckets := slices.DeleteFunc(s.s3.Buckets(), func(b *bucket.Bucket) bool {
		return !chosen.has(wire.Place{Account: b.Account(), Region: b.Region()})
	})
	some, next := cut(p, buckets, func(b **bucket.Bucket) string { return (*b).Name() })
	all := []bucketView{}
	for _, b := range some {
		all = append(all, viewBucket(b))
	}
	return map[string]any{"buckets": all, "next": next}, nil
}

func viewBucket(b *bucket.Bucket) bucketView {
	set := b.Settings()
	v := bucketView{
		Name: b.Name(), ARN: s3.ARN(b.Region(), b.Name()), Account: b.Account(), Region: b.Region(),
		Created:   b.Created(),
		Tags:      tagView(set.Tags),
		Lifecycle: len(set.Lifecycle),
	}
	v.Objects, v.Bytes = b.Count()
	for _, u := range b.Uploads() {
		v.Uploads = append(v.Uploads, uploadView{u.ID, u.Key, u.Initiated})
	}
	for _, n := range set.Notifications {
		v.Notifications = append(v.Notifications, notificationView{n.Destination, n.Events, n.Prefix, n.Suffix})
	}
	return v
}

func tagView(tags []bucket.Tag) map[string]string {
	if len(tags) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, t := range tags {
		all[t.Key] = t.Value
	}
	return all
}

// objectView is an object in the list of a bucket.
type objectView struct {
	Key          string            `json:"key"`
	Size         int64             `json:"size"`
	ETag         string            `json:"etag"`
	Modified     time.Time         `json:"modified"`
	ContentType  string            `json:"contentType"`
	StorageClass string            `json:"storageClass"`
	Checksum     string            `json:"checksum,omitempty"`
	Parts        int               `json:"parts,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	Expires      *time.Time        `json:"expires,omitempty"`
}

func listObjects(s *Server, p page, r *http.Request) (map[string]any, error) {
	b := s.s3.Bucket(r.PathValue("name"))
	if b == nil {
		return nil, missing{"bucket", r.PathValue("name")}
	}
	page := b.List(bucket.Query{Prefix: r.FormValue("prefix"), After: p.after, Limit: p.limit})
	all, set := []objectView{}, b.Settings()
	for _, o := range page.Objects {
		v := objectView{
			Key: o.Key, Size: o.Size(), ETag: o.ETag, Modified: o.Modified, ContentType: o.Headers.ContentType,
			StorageClass: o.StorageClass, Parts: len(o.Parts), Metadata: o.Metadata, Tags: tagView(o.Tags),
		}
		if o.Checksum.Value != "" {
			v.Checksum = o.Checksum.Algorithm + ":" + o.Checksum.Value
		}
		if at, _, ok := set.Expiry(o); ok {
			v.Expires = &at
		}
		all = append(all, v)
	}
	next := ""
	if page.More {
		next = page.Last
	}
	return map[string]any{"objects": all, "next": next}, nil
}
