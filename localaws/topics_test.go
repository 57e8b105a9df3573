package localaws_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/localaws"
)

// get requests a URL over the network.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Over loopback, every URL that an endpoint has to visit has the host and port by which the client reached the server.
func TestEndpointConfirmsAndVerifiesOverLoopback(t *testing.T) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	letters := make(chan map[string]any, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var letter map[string]any
		if err := json.NewDecoder(r.Body).Decode(&letter); err != nil {
			t.Error(err)
		}
		letters <- letter
	}))
	defer endpoint.Close()
	base := "http://" + addr.String()
	client := sns.New(sns.Options{
		Region: "us-east-1", BaseEndpoint: &base,
		HTTPClient:  &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})
	topic, err := client.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("t")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Subscribe(t.Context(),
		&sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("http"),
			Endpoint: &endpoint.URL,
		}); err != nil {
		t.Fatal(err)
	}
	confirmation := <-letters
	if body := get(t, confirmation["SubscribeURL"].(string)); !strings.Contains(body,
		"<SubscriptionArn>"+*topic.TopicArn) {
		t.Fatalf("confirmed with %s", body)
	}
	if _, err := client.Publish(t.Context(),
		&sns.PublishInput{TopicArn: topic.TopicArn, Message: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	note := <-letters
	if note["Message"] != "hello" {
		t.Errorf("got %v", note)
	}
	certificate, _ := note["SigningCertURL"].(string)
	if block, _ := pem.Decode([]byte(get(t, certificate))); !strings.HasPrefix(certificate, base+"/") || block == nil {
		t.Errorf("no certificate at %s", certificate)
	}
	var shown struct {
		Topics []struct {
			ARN           string
			Subscriptions []struct{ Confirmed bool }
		}
	}
	if err := json.Unmarshal([]byte(get(t, base+"/_localaws/topics")), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Topics) != 1 || shown.Topics[0].ARN != *topic.TopicArn || len(shown.Topics[0].Subscriptions) != 1 ||
		!shown.Topics[0].Subscriptions[0].Confirmed {
		t.Errorf("/_localaws/topics shows %+v", shown)
	}
	server.Reset()
	if topics := server.SNS().Topics(); len(topics) != 0 {
		t.Errorf("after a reset: %v", topics)
	}
}
