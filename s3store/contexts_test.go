package s3store_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
)

// Hang makes the server answer nothing.
func (w *world) Hang() {
	w.server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: time.Hour}
	})
}

func newHanging(t *testing.T) *world {
	server, err := localaws.New(&localaws.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return &world{T: t, server: server, conf: aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: server.Transport()},
	}}
}

// Every function of the package that takes a context ends with it, although the service answers nothing.
func TestContextsEnd(t *testing.T) {
	type ctx = context.Context
	// simple is a case with a store that has one body.
	simple := func(call func(c ctx, s *s3store.Store, at driver.Location) error) func(w *world) func(ctx) error {
		return func(w *world) func(ctx) error {
			s := w.ready(s3store.Options{})
			at, err := s.Put(w.Context(), "orders", bytes.NewReader([]byte("body")), 4)
			if err != nil {
				w.Fatal(err)
			}
			return func(c ctx) error { return call(c, s, at) }
		}
	}
	contexts.Check(t, ".", newHanging, contexts.Cases[*world]{
		"OpenDecisions": func(w *world) func(ctx) error {
			return func(c ctx) error {
				_, err := s3store.OpenDecisions(c, &s3store.Options{Bucket: bucket, Prefix: "decisions/", AWS: &w.conf})
				return err
			}
		},
		"Decisions.Ensure": func(w *world) func(ctx) error {
			d := w.decisions("decisions/")
			return func(c ctx) error { return d.Ensure(c, driver.Auto) }
		},
		"Decisions.Decide": func(w *world) func(ctx) error {
			d := w.decisions("decisions/")
			return func(c ctx) error {
				_, err := d.Decide(c, "x", "yes")
				return err
			}
		},
		"Store.Written": simple(func(c ctx, s *s3store.Store, at driver.Location) error {
			_, err := s.Written(c, at)
			return err
		}),
		"Store.Copy": simple(func(c ctx, s *s3store.Store, at driver.Location) error {
			_, err := s.Copy(c, at, "others")
			return err
		}),
		"Store.Delete": simple(func(c ctx, s *s3store.Store, at driver.Location) error {
			return s.Delete(c, []driver.Location{at})
		}),
		"Store.Ensure": func(w *world) func(ctx) error {
			s := w.open(s3store.Options{})
			return func(c ctx) error { return s.Ensure(c, driver.Auto) }
		},
		"Store.List": simple(func(c ctx, s *s3store.Store, _ driver.Location) (err error) {
			for _, err = range s.List(c, "orders") {
			}
			return err
		}),
		"Store.Look": simple(func(c ctx, s *s3store.Store, _ driver.Location) error {
			_, err := s.Look(c)
			return err
		}),
		"Store.Open": simple(func(c ctx, s *s3store.Store, at driver.Location) error {
			r, _, err := s.Open(c, at)
			if err == nil {
				_, err = io.ReadAll(r)
			}
			return err
		}),
		"Store.Put": simple(func(c ctx, s *s3store.Store, _ driver.Location) error {
			_, err := s.Put(c, "orders", bytes.NewReader(make([]byte, 32<<20)), 32<<20)
			return err
		}),
		"State.Load": func(w *world) func(ctx) error {
			w.ready(s3store.Options{})
			s := w.state()
			return func(c ctx) error {
				_, _, err := s.Load(c)
				return err
			}
		},
		"State.Store": func(w *world) func(ctx) error {
			w.ready(s3store.Options{})
			s := w.state()
			return func(c ctx) error { return s.Store(c, []byte("x"), "") }
		},
	}, map[string]string{
		"Open":      "it makes no request",
		"OpenState": "it makes no request",
	})
}
