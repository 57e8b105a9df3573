package schemaregistry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/godwitmq/godwit/schemaregistry"
)

// registry is a schema registry in the process, without a socket, so that it works in virtual time.
type registry struct {
	*srfake.Registry
	t *testing.T

	mu    sync.Mutex
	fault func(*http.Request) (*http.Response, error) // nil: it works
	calls int
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	return &registry{Registry: srfake.NewRegistry(), t: t}
}

// RoundTrip implements http.RoundTripper.
func (r *registry) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.calls++
	fault := r.fault
	r.mu.Unlock()
	if fault != nil {
		return fault(req)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w.Result(), nil
}

// fails makes all requests fail until it is called with nil.
func (r *registry) fails(fault func(*http.Request) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

// asked returns the number of requests since the last call.
func (r *registry) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.calls
	r.calls = 0
	return n
}

// client returns a client of the registry.
func (r *registry) client() *sr.Client {
	r.t.Helper()
	c, err := sr.NewClient(sr.URLs("http://registry"), sr.HTTPClient(&http.Client{Transport: r}))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// codec returns a codec of the registry.
func (r *registry) codec(s schemaregistry.Serde, o *schemaregistry.Options) *schemaregistry.Codec {
	r.t.Helper()
	c, err := schemaregistry.New(r.client(), s, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// The ways in which a registry does not work.

func unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

func answers(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.WriteHeader(status)
		_, err := io.WriteString(w, body)
		return w.Result(), err
	}
}

// order is what the tests send.
type order struct {
	Item string `json:"item"`
}

// orderSchema is its schema.
func orderSchema() *sr.Schema {
	return &sr.Schema{
		Type:   sr.TypeJSON,
		Schema: `{"title":"order","type":"object","properties":{"item":{"type":"string"}}}`,
	}
}
