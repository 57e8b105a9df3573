package s3store_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
)

const bucket = "payloads"

// world is a server with S3, and a client of another program.
type world struct {
	*testing.T
	server *localaws.Server
	conf   aws.Config
	s3     *s3.Client
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}()
		w := &world{T: t, server: server, conf: aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
			Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
			HTTPClient:  &http.Client{Transport: server.Transport()},
			// What config.LoadDefaultConfig sets: every part of an upload has a checksum.
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
		}}
		w.s3 = s3.NewFromConfig(w.conf, func(o *s3.Options) { o.UsePathStyle = true })
		f(w)
	})
}

// open opens a store; "" of a bucket is the usual one.
func (w *world) open(o s3store.Options) *s3store.Store {
	w.Helper()
	if o.Bucket == "" {
		o.Bucket = bucket
	}
	o.AWS = &w.conf
	s, err := s3store.Open(w.Context(), &o)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// ready opens a store and creates its bucket.
func (w *world) ready(o s3store.Options) *s3store.Store {
	w.Helper()
	s := w.open(o)
	w.ensure(s, driver.Auto)
	return s
}

func (w *world) ensure(s *s3store.Store, mode driver.Mode) {
	w.Helper()
	if err := s.Ensure(w.Context(), mode); err != nil {
		w.Fatal(err)
	}
}

func (w *world) put(s *s3store.Store, body []byte) driver.Location {
	w.Helper()
	at, err := s.Put(w.Context(), "queues/orders", bytes.NewReader(body), int64(len(body)))
	if err != nil {
		w.Fatal(err)
	}
	return at
}

// read returns an object, or the error of opening or reading it.
func (w *world) read(s *s3store.Store, at driver.Location) ([]byte, error) {
	r, _, err := s.Open(w.Context(), at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// create makes a bucket of another program.
func (w *world) create(name string) {
	w.Helper()
	if _, err := w.s3.CreateBucket(w.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		w.Fatal(err)
	}
}

// uploads counts the uploads that are not complete.
func (w *world) uploads() int {
	w.Helper()
	out, err := w.s3.ListMultipartUploads(w.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String(bucket)})
	if err != nil {
		w.Fatal(err)
	}
	return len(out.Uploads)
}

// down makes an action fail for some time.
func (w *world) down(action string, lasts time.Duration) {
	end := time.Now().Add(lasts)
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		if time.Now().After(end) {
			return localaws.Outcome{}
		}
		return localaws.Outcome{
			Err: &wire.Error{Code: "ServiceUnavailable", Message: "try again", Status: 503, Fault: true},
		}
	})
}

func (w *world) refuse(action string) {
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "Access Denied", Status: 403}}
	})
}

// calls counts the calls of f.
func (w *world) calls(f func()) (n int) {
	before := w.server.Calls()
	f()
	for action, all := range w.server.Calls() {
		n += all - before[action]
	}
	return n
}
