//go:build unix

package sqs

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// filler is a body of 256 bytes.
var filler = strings.Repeat("x", 256)

// text is a body of 256 bytes that begins with s.
func text(s string) string { return s + " " + filler[len(s)+1:] }

// cloud is the service as a contender reaches it.
type cloud struct {
	config    aws.Config
	transport http.RoundTripper
	sqs       *sqs.Client
	sns       *sns.Client
}

// newCloud is the service at an endpoint. If transport is nil, requests use the network, with as many idle connections
// as Godwit keeps.
func newCloud(t *testing.T, endpoint string, transport http.RoundTripper) *cloud {
	t.Helper()
	c := &cloud{transport: transport}
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConns, own.MaxIdleConnsPerHost = 128, 128
		transport = own
		t.Cleanup(own.CloseIdleConnections)
	}
	c.config = aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: transport},
	}
	c.sqs, c.sns = sqs.NewFromConfig(c.config), sns.NewFromConfig(c.config)
	return c
}

func (c *cloud) createQueue(t *testing.T, name string) {
	t.Helper()
	in := &sqs.CreateQueueInput{QueueName: &name}
	if strings.HasSuffix(name, ".fifo") {
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := c.sqs.CreateQueue(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) url(queue string) string { return *c.config.BaseEndpoint + "/000000000000/" + queue }

func (c *cloud) topic(name string) string { return "arn:aws:sns:us-east-1:000000000000:" + name }

// backend opens Godwit's backend on the same service.
func (c *cloud) backend(t *testing.T) *snssqs.Backend {
	t.Helper()
	conf := c.config.Copy()
	conf.HTTPClient = nil
	b, err := snssqs.Open(t.Context(), &snssqs.Options{AWS: &conf, Transport: c.transport, CancelPolls: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fill sends n messages to a queue, with the keys in turn if keys is positive.
func (c *cloud) fill(t *testing.T, queue string, n, keys int) {
	t.Helper()
	url := c.url(queue)
	for first := 0; first < n; first += 10 {
		in := &sqs.SendMessageBatchInput{QueueUrl: &url}
		for i := first; i < min(first+10, n); i++ {
			e := types.SendMessageBatchRequestEntry{
				Id:          aws.String(strconv.Itoa(i)),
				MessageBody: aws.String(text(strconv.Itoa(i))),
			}
			if keys > 0 {
				e.MessageGroupId, e.MessageDeduplicationId = aws.String(strconv.Itoa(i%keys)),
					aws.String(strconv.Itoa(i))
			}
			in.Entries = append(in.Entries, e)
		}
		if _, err := c.sqs.SendMessageBatch(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
}

// far simulates a remote service: each request takes half a round trip, and so does each answer. It counts the
// requests.
type far struct {
	next http.RoundTripper
	trip time.Duration

	mu    sync.Mutex
	calls int
}

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	if err := travel(r.Context(), f.trip/2); err != nil {
		return nil, err
	}
	answer, err := f.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := travel(r.Context(), f.trip/2); err != nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

func travel(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// requests is the number of requests so far.
func (f *far) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// world is a service in virtual time. The contenders reach it after a round trip. near reaches it at once, to prepare a
// scene.
type world struct {
	*testing.T
	near, away *cloud
	far        *far
}

const endpoint = "http://localaws.internal"

// inWorld runs a scene in virtual time.
func inWorld(t *testing.T, trip time.Duration, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		far := &far{next: server.Transport(), trip: trip}
		f(&world{t, newCloud(t, endpoint, server.Transport()), newCloud(t, endpoint, far), far})
		time.Sleep(time.Minute) // until goroutines that contenders leave behind have ended
	})
}
