package s3store

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
)

// Store is a driver.Store in a bucket of S3.
type Store struct {
	o      Options
	s3     *s3.Client
	region string

	copyUpTo, copyPart int64 // the constants; tests make them smaller

	mu      sync.Mutex
	ensured driver.Mode // the furthest mode in which Ensure has succeeded
	done    bool        // whether it has succeeded at all
}

// Open creates the client; it makes no request.
func Open(ctx context.Context, o *Options) (*Store, error) {
	s := &Store{copyUpTo: copyUpTo, copyPart: copyPart}
	s.o = *cmp.Or(o, &Options{})
	if err := s.o.check(); err != nil {
		return nil, err
	}
	if s.o.S3 != nil {
		s.s3 = s.o.S3
		s.region = s.o.S3.Options().Region
		return s, nil
	}
	conf, err := s.config(ctx)
	if err != nil {
		return nil, err
	}
	s.region = conf.Region
	s.s3 = s3.NewFromConfig(conf, func(so *s3.Options) {
		// A local server has no host name for each bucket.
		so.DisableLogOutputChecksumValidationSkipped = true // an object in parts has no checksum of the whole
		so.UsePathStyle = so.BaseEndpoint != nil && !strings.Contains(*so.BaseEndpoint, ".amazonaws.com")
		if s.o.Transport != nil {
			so.HTTPClient = &http.Client{Transport: s.o.Transport}
		}
	})
	return s, nil
}

func (s *Store) config(ctx context.Context) (aws.Config, error) {
	if s.o.AWS != nil {
		return *s.o.AWS, nil
	}
	conf, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return aws.Config{}, fmt.Errorf("s3store: load the AWS configuration: %w", err)
	}
	if conf.Region == "" {
		return aws.Config{}, fmt.Errorf("s3store: no AWS region: set AWS_REGION or Options.AWS")
	}
	return conf, nil
}

// Bucket is the name of the bucket.
func (s *Store) Bucket() string { return s.o.Bucket }

// Lifetime is how long an object stays that nothing deletes; 0: without a limit.
func (s *Store) Lifetime() time.Duration { return max(s.o.Lifetime, 0) }

// at returns the place that a location is in, and whether the store may read it.
func (s *Store) at(l driver.Location) (src Source, listed bool) {
	if !straight(l.Key) {
		return Source{}, false
	}
	// The store may delete its own objects.
	for _, src := range append([]Source{{Bucket: s.o.Bucket, Prefix: s.o.Prefix, Delete: true}}, s.o.Sources...) {
		if l.Bucket == src.Bucket && strings.HasPrefix(l.Key, src.Prefix) {
			return src, true
		}
	}
	return Source{}, false
}

// owns reports whether a location is in the store's own place.
func (s *Store) owns(l driver.Location) bool {
	return l.Bucket == s.o.Bucket && strings.HasPrefix(l.Key, s.o.Prefix)
}

// owner is the parameter that makes S3 compare a bucket's owner.
func (s Source) owner() *string {
	if s.Owner == "" {
		return nil
	}
	return &s.Owner
}
