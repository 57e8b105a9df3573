package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
)

var (
	endpoint = flag.String("endpoint", "", "run against this endpoint in real time instead of against localaws")
	region   = flag.String("region", "us-east-1", "region of -endpoint")
)

// longest is the longest real time of one wait of a case against an endpoint.
const longest = 10 * time.Second

// world is the environment of a case.
type world struct {
	*testing.T
	ctx      context.Context
	sqs      *sqs.Client
	local    *localaws.Server // nil if the cases run against an endpoint
	endpoint string
	http     *http.Client
	keys     aws.CredentialsProvider
	prefix   string
	others   sync.WaitGroup // goroutines that beside started
}

// beside runs f concurrently with the case, which ends after it.
func (w *world) beside(f func()) {
	w.others.Go(func() {
		defer w.survive()
		f()
	})
}

// survive turns a panic into a failure, because the answer of another server may lack a field that a case relies on,
// and the next case must run. Against localaws a panic is not caught.
func (w *world) survive() {
	if *endpoint == "" {
		return
	}
	if v := recover(); v != nil { //nolint:revive // survive itself is deferred
		w.Errorf("the case could not go on: %v", v)
	}
}

// testSeed gives every run the same ids.
const testSeed = 1

// run runs one case as a subtest.
func run(t *testing.T, name string, f func(w *world)) {
	t.Helper()
	runWith(t, name, nil, f)
}

// runWith is the same as run, with options for the server. Against an endpoint, whose options cannot be set, the case
// is skipped.
func runWith(t *testing.T, name string, o *localaws.Options, f func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if *endpoint != "" {
			if o != nil {
				t.Skip("needs a server with options")
			}
			w := newWorld(t, *endpoint, http.DefaultTransport, nil)
			defer w.others.Wait()
			defer w.survive()
			f(w)
			return
		}
		synctest.Test(t, func(t *testing.T) {
			opts := localaws.Options{}
			if o != nil {
				opts = *o
			}
			opts.Seed = testSeed
			if fullrun.On() { // the same answers are expected of a server that keeps what it acknowledges
				store, err := disk.Open(filepath.Join(t.TempDir(), "data"), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				opts.Store = store
			}
			server, err := localaws.New(&opts)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			watchCoverage(server)
			w := newWorld(t, "http://localaws", server.Transport(), server)
			defer w.others.Wait()
			f(w)
		})
	})
}

// inMemory passes small request bodies to net/http as byte readers. For the SDK's own type of body, net/http sends the
// header first, and loses the answer of a server that answers in between.
type inMemory struct{ next http.RoundTripper }

func (t inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.ContentLength <= 0 || req.ContentLength > 1<<20 || req.Header.Get("Expect") != "" {
		return t.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err := errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return t.next.RoundTrip(again)
}

func newWorld(t *testing.T, endpoint string, transport http.RoundTripper, server *localaws.Server) *world {
	if server == nil {
		transport = inMemory{transport}
	}
	w := &world{
		T: t, ctx: t.Context(), local: server, endpoint: endpoint, http: &http.Client{Transport: transport},
		prefix: fmt.Sprintf("c%08x-", rand.Uint32()),
		keys: credentials.NewStaticCredentialsProvider(
			or(os.Getenv("AWS_ACCESS_KEY_ID"), "key"), or(os.Getenv("AWS_SECRET_ACCESS_KEY"),
				"secret"), os.Getenv("AWS_SESSION_TOKEN")),
	}
	w.sqs = sqs.New(sqs.Options{
		Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys, RetryMaxAttempts: 1,
	})
	return w
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// name returns a name that only this case uses.
func (w *world) name(s string) string { return w.prefix + s }

// pass waits.
func (w *world) pass(d time.Duration) {
	w.Helper()
	if w.local == nil && d > longest {
		w.Skipf("needs %v of real time", d)
	}
	time.Sleep(d)
}

// must fails the case on an error.
func must[T any](out T, err error) func(w *world) T {
	return func(w *world) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return out
	}
}

// refused checks that an error has a code and contains a text.
func (w *world) refused(err error, code, text string) {
	w.Helper()
	var e smithy.APIError
	if !errors.As(err, &e) {
		w.Errorf("error %v, want code %s", err, code)
		return
	}
	if e.ErrorCode() != code || !strings.Contains(e.ErrorMessage(), text) {
		w.Errorf("refused with %s: %s\nwant        %s: %s", e.ErrorCode(), e.ErrorMessage(), code, text)
	}
}

// refusedAs checks that err is an error of AWS with exactly this status, code and text.
func (w *world) refusedAs(err error, code int, name, text string) {
	w.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		w.Errorf("got %v, want %s", err, name)
		return
	}
	have := fmt.Sprintf("%d %s: %s", status(err), api.ErrorCode(), api.ErrorMessage())
	if diff := cmp.Diff(fmt.Sprintf("%d %s: %s", code, name, text), have); diff != "" {
		w.Error(diff)
	}
}

// status returns the HTTP status of an error; 0: it has none.
func status(err error) int {
	var e interface{ HTTPStatusCode() int }
	if errors.As(err, &e) {
		return e.HTTPStatusCode()
	}
	return 0
}

// raw posts a body that no SDK would send. It is signed, because servers with many services choose the service by the
// scope of the signature.
func (w *world) raw(path string, header map[string]string, body string) (int, http.Header, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.ctx, "POST", w.endpoint+path, bytes.NewReader([]byte(body)))
	if err != nil {
		w.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w.sign(r, body)
	return w.do(r)
}

// do sends a request and reads the whole answer.
func (w *world) do(r *http.Request) (int, http.Header, string) {
	w.Helper()
	answer, err := w.http.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

func (w *world) sign(r *http.Request, body string) {
	w.Helper()
	service := "sqs"
	switch {
	case strings.Contains(body, "Version=2010-03-31"):
		service = "sns"
	case strings.Contains(body, "Version=2010-08-01"), strings.HasPrefix(r.Header.Get("X-Amz-Target"), graniteTarget):
		service = "monitoring"
	}
	keys := must(w.keys.Retrieve(w.ctx))(w)
	if err := v4.NewSigner().SignHTTP(w.ctx, keys, r, fmt.Sprintf("%x", sha256.Sum256([]byte(body))), service, *region,
		time.Now()); err != nil {
		w.Fatal(err)
	}
}

// query calls an action of SQS in the query protocol.
func (w *world) query(path, action string, values url.Values) (int, string) {
	w.Helper()
	form := url.Values{"Action": {action}, "Version": {"2012-11-05"}}
	maps.Copy(form, values)
	code, _, body := w.raw(path, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode())
	return code, body
}

// graniteTarget begins the targets of CloudWatch's actions in awsJson.
const graniteTarget = "GraniteServiceVersion20100801."

// json calls an action of SQS in awsJson.
func (w *world) json(action, body string) (int, http.Header, string) {
	w.Helper()
	return w.raw("/", map[string]string{
		"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action,
	}, body)
}
