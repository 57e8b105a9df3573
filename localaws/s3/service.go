package s3

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// Options are what a Service needs. All fields but Logger are required.
type Options struct {
	Account      string // of seeds that have none
	Region       string // of seeds, and of new buckets, that have none
	Clock        *clock.Clock
	Random       *random.Source
	Destinations Destinations
	Logger       *slog.Logger // nil: nothing is logged
	// Kept is what Store has of the buckets; both are nil: in memory alone.
	Kept  *bucket.Kept
	Store keep.Store
	Epoch uint32 // number of the server's start, of a Store
}

// Destinations is the part of SQS and SNS that notifications need.
type Destinations interface {
	// Check returns an error if a queue or topic does not exist, cannot have notifications, or has a policy that does
	// not allow them.
	Check(destinationARN string, from Origin) error
	// Deliver sends a notification.
	Deliver(destinationARN string, from Origin, body, trace string) error
}

// Origin is the bucket that a notification is about.
type Origin struct{ BucketARN, Account string }

// Service is the model of S3, of all accounts and regions. It is safe for concurrent use.
type Service struct {
	opts  Options
	log   *slog.Logger
	store *bucket.Store

	told   sync.Map // the parts that the log has said do not act
	mu     sync.Mutex
	closed bool
	stop   func() // stops the alarm of the next midnight; nil: no bucket has a lifecycle
}

// New returns a service without buckets.
func New(o Options) *Service {
	s := &Service{opts: o, log: o.Logger, store: bucket.NewStore()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Store != nil {
		o.Kept.Restore(s.store, o.Store, o.Epoch, s.log)
		s.arm()
	}
	return s
}

// Buckets returns the buckets by name, for inspecting them without requests.
func (s *Service) Buckets() []*bucket.Bucket { return s.store.Buckets() }

// Bucket returns the bucket with a name, or nil.
func (s *Service) Bucket(name string) *bucket.Bucket { return s.store.Bucket(name) }

// Reset deletes every bucket with its objects.
func (s *Service) Reset() {
	s.mu.Lock()
	s.sleep()
	s.mu.Unlock()
	s.store.Reset()
}

// Close is the same as Reset, and stops lifecycles.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.sleep()
	s.mu.Unlock()
	s.store.Close()
}

// Wire returns the service's actions.
func (s *Service) Wire() *rest.Service {
	return &rest.Service{
		Name: "s3", XMLNS: "http://s3.amazonaws.com/doc/2006-03-01/", Unbuilt: unbuilt(),
		Actions: slices.Concat(bucketActions(s), settingActions(s), objectActions(s), absent(s)),
	}
}

// Control returns the actions of S3 Control that are about tags of buckets. Terraform's provider reads and writes tags
// with them. Their path is /v20180820/tags/ARN, so in terms of package rest the version is a bucket, and the rest is a
// key.
func (s *Service) Control() *rest.Service {
	tags := func(method string) rest.Route { return at(method, rest.Object) }
	return &rest.Service{
		Name: "s3control", XMLNS: "http://awss3control.amazonaws.com/doc/2018-08-20/", Wrapped: true, PathOnly: true,
		Rest: beyondTags,
		Actions: []rest.Action{
			onTagged(s, "ListTagsForResource", tags("GET"), listTagsForResource).Document("ListTagsForResourceResult"),
			onTagged(s, "TagResource", tags("POST"), tagResource),
			onTagged(s, "UntagResource", tags("DELETE"), untagResource),
		},
	}
}

// now returns the server's time as S3 writes it: in whole seconds.
func (s *Service) now() time.Time { return s.opts.Clock.Now().UTC().Truncate(time.Second) }
