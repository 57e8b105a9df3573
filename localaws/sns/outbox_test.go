package sns_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/localaws/sns"
)

// silent is a network of endpoints. Those whose host begins with silent never answer; the others do.
type silent struct {
	mu      sync.Mutex
	running int
	most    int
	byHost  map[string]int // requests that run
	mostOf  map[string]int
	got     map[string]int
}

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Host
	s.mu.Lock()
	s.running++
	s.byHost[host]++
	s.most, s.mostOf[host] = max(s.most, s.running), max(s.mostOf[host], s.byHost[host])
	s.mu.Unlock()
	if strings.HasPrefix(host, "silent") {
		<-r.Context().Done()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.byHost[host]--
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.got[host]++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// Endpoints that never answer use a bounded number of connections, other endpoints get their messages meanwhile, and
// every delivery ends.
func TestSilentEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &silent{byHost: map[string]int{}, mostOf: map[string]int{}, got: map[string]int{}}
		f := newFixtureWith(t, func(o *sns.CarrierOptions) { o.HTTP = net })
		topic := f.topic("t", nil)
		for _, host := range []string{"silent1", "silent2", "good"} {
			f.subscribe(topic, "http", "http://"+host+"/", map[string]string{
				"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":0}}`,
			})
		}
		for _, p := range f.service.Pending() {
			if _, err := f.client.ConfirmSubscription(f.ctx, &awssns.ConfirmSubscriptionInput{
				TopicArn: topic, Token: aws.String(p.Token),
			}); err != nil {
				t.Fatal(err)
			}
		}
		const n = 200
		for range n {
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		}
		time.Sleep(time.Second)
		net.mu.Lock()
		if net.got["good"] < n || net.mostOf["silent1"] > sns.AttemptsPerEndpoint || net.most > sns.AttemptsAtOnce {
			t.Errorf("the good endpoint has got %d of %d; most connections %d, of one %d", net.got["good"], n, net.most,
				net.mostOf["silent1"])
		}
		net.mu.Unlock()
		time.Sleep(time.Hour) // 200 attempts of 15 s, eight at once
		if failed := len(f.service.Failures()); failed != 2*n {
			t.Errorf("%d deliveries have failed, want %d", failed, 2*n)
		}
	})
}

// More than the bound does not wait: a delivery fails at once, and goes to the dead-letter queue.
func TestTheOutboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &silent{byHost: map[string]int{}, mostOf: map[string]int{}, got: map[string]int{}}
		f := newFixtureWith(t, func(o *sns.CarrierOptions) { o.HTTP = net })
		topic := f.topic("t", nil)
		f.subscribe(topic, "http", "http://silent/", map[string]string{
			"RawMessageDelivery": "true", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q}`, queue("dead")),
		})
		if _, err := f.client.ConfirmSubscription(f.ctx, &awssns.ConfirmSubscriptionInput{
			TopicArn: topic, Token: aws.String(f.service.Pending()[0].Token),
		}); err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("x", 256<<10)
		for range sns.MaxOutbox/len(text) + 3 {
			f.publish(&awssns.PublishInput{TopicArn: topic, Message: &text})
		}
		if n := len(f.queues.in("dead")); n < 3 || n > 4 { // the confirmation has one place
			t.Errorf("%d messages are in the dead-letter queue", n)
		}
		f.service.Reset()
		topic = f.topic("again", nil)
		f.subscribe(topic, "http", "http://good/", nil)
		synctest.Wait()
		if net.got["good"] != 1 {
			t.Error("after a reset, an endpoint is not called")
		}
	})
}
