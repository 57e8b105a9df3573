package sns_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/wire"
)

const account = "000000000000"

// fixture is a service behind its HTTP handler with the real client, queues that record their messages, and one http
// endpoint, http://endpoint/, that answers as the test decides.
type fixture struct {
	*testing.T
	carrier *sns.Carrier
	service *sns.Service
	clock   *clock.Clock
	client  *awssns.Client
	queues  *queues
	mux     http.Handler
	log     *bytes.Buffer
	ctx     context.Context

	mu    sync.Mutex
	posts []*http.Request // requests that the endpoint got, with their bodies read
	got   []string        // their bodies
	// answer returns the endpoint's status for its nth request, from 0. nil: 200.
	answer func(n int) int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWith(t, func(*sns.CarrierOptions) {})
}

// newFixtureWith is the same with other options.
func newFixtureWith(t *testing.T, change func(*sns.CarrierOptions)) *fixture {
	t.Helper()
	f := &fixture{
		T: t, clock: clock.New(), queues: &queues{messages: map[string][]sns.QueueMessage{}},
		log: &bytes.Buffer{}, ctx: t.Context(),
	}
	source := random.New(1)
	o := sns.CarrierOptions{
		Clock: f.clock, Logger: slog.New(slog.NewTextHandler(f.log, nil)), HTTP: trip(f.endpoint),
	}
	change(&o)
	f.carrier = sns.NewCarrier(o)
	f.service = sns.New(sns.Options{
		Account: account, Region: "us-east-1", Clock: f.clock, Random: source, Queues: f.queues,
		Logger: o.Logger, Carrier: f.carrier,
	})
	mux := wire.NewMux(wire.Options{Account: account, Region: "us-east-1", Random: source}, f.service.Wire())
	f.mux = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, sns.CertificatePrefix) {
			f.carrier.ServeCertificate(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	f.client = awssns.New(awssns.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://aws"), HTTPClient: &http.Client{Transport: trip(f.serve)},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})
	t.Cleanup(func() {
		f.carrier.Close()
		f.clock.Close()
	})
	return f
}

// trip is a RoundTripper as a function.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (f *fixture) serve(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.URL.Path == "" {
		in.URL.Path = "/"
	}
	in.Host = "aws"
	f.mux.ServeHTTP(w, in)
	return w.Result(), nil
}

func (f *fixture) endpoint(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	n := len(f.posts)
	f.posts, f.got = append(f.posts, r), append(f.got, string(body))
	answer := f.answer
	f.mu.Unlock()
	status := http.StatusOK
	if answer != nil {
		status = answer(n)
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
}

// visit requests a URL of the server without a signature, as a click in an e-mail does.
func (f *fixture) visit(url string) string {
	f.Helper()
	r, err := http.NewRequestWithContext(f.ctx, http.MethodGet, url, nil)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.serve(r)
	if err != nil {
		f.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return string(body)
}

func (f *fixture) topic(name string, attributes map[string]string) *string {
	f.Helper()
	out, err := f.client.CreateTopic(f.ctx, &awssns.CreateTopicInput{Name: &name, Attributes: attributes})
	if err != nil {
		f.Fatal(err)
	}
	return out.TopicArn
}

func (f *fixture) subscribe(topic *string, protocol, endpoint string, attributes map[string]string) string {
	f.Helper()
	out, err := f.client.Subscribe(f.ctx,
		&awssns.SubscribeInput{
			TopicArn: topic, Protocol: &protocol, Endpoint: &endpoint, Attributes: attributes,
			ReturnSubscriptionArn: true,
		})
	if err != nil {
		f.Fatal(err)
	}
	return *out.SubscriptionArn
}

func (f *fixture) publish(in *awssns.PublishInput) *awssns.PublishOutput {
	f.Helper()
	out, err := f.client.Publish(f.ctx, in)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// queue returns the ARN of a queue.
func queue(name string) string { return "arn:aws:sqs:us-east-1:" + account + ":" + name }

// queues records deliveries; a queue with a name "closed…" refuses every message.
type queues struct {
	mu       sync.Mutex
	messages map[string][]sns.QueueMessage
}

func (q *queues) Deliver(queueARN, topicARN string, m sns.QueueMessage) error {
	if strings.Contains(queueARN, ":closed") {
		return errors.New("no statement allows " + topicARN)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages[queueARN] = append(q.messages[queueARN], m)
	return nil
}

func (q *queues) Queue(arn string) (sns.QueueInfo, bool) {
	return sns.QueueInfo{FIFO: strings.HasSuffix(arn, ".fifo")}, !strings.HasSuffix(arn, ":absent")
}

func (q *queues) in(name string) []sns.QueueMessage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.messages[queue(name)]
}

func (q *queues) bodies(name string) []string {
	var bodies []string
	for _, m := range q.in(name) {
		bodies = append(bodies, m.Body)
	}
	return bodies
}
