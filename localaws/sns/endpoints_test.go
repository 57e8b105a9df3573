package sns_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/localaws/sns"
)

// SNS connects to this machine, and to what is allowed; by name, by range, and never to link-local addresses.
func TestEndpoints(t *testing.T) {
	e, err := sns.NewEndpoints([]string{"hook.example.test", "10.1.0.0/16", "192.0.2.7", "fd00::/8", "fe80::/10"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, address string
		ok            bool
	}{
		{"127.0.0.1", "127.0.0.1:80", true},
		{"127.1.2.3", "127.1.2.3:80", true},
		{"localhost", "[::1]:80", true},
		{"::ffff:127.0.0.1", "[::ffff:127.0.0.1]:80", true},
		{"evil.test", "127.0.0.1:80", true},
		{"hook.example.test", "203.0.113.9:443", true},
		{"Hook.Example.Test.", "203.0.113.9:443", true},
		{"x", "10.1.2.3:80", true},
		{"x", "[::ffff:10.1.2.3]:80", true},
		{"192.0.2.7", "192.0.2.7:80", true},
		{"x", "[fd00::1]:80", true},

		{"example.com", "93.184.216.34:80", false},
		{"x.hook.example.test", "203.0.113.9:443", false},
		{"x", "10.2.0.1:80", false},
		{"192.0.2.8", "192.0.2.8:80", false},
		{"localhost", "192.168.0.1:80", false}, // what it means does not matter, only the address
		{"169.254.169.254", "169.254.169.254:80", false},
		{"hook.example.test", "169.254.169.254:80", false},
		{"x", "[::ffff:169.254.169.254]:80", false},
		{"x", "[fe80::1%eth0]:80", false},
		{"x", "0.0.0.0:80", false},
		{"x", "[::]:80", false},
		{"x", "[ff02::1]:80", false},
	} {
		if err := sns.CheckEndpoint(e, c.host, c.address); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.host, c.address, err)
		}
	}
}

// A message for an endpoint that is not allowed is not sent there, not through a proxy either, and not repeated. What
// an endpoint redirects to gets nothing.
func TestDeliveryStaysOnThisMachine(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	hits := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits <- r.URL.Path
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	log := make(lines, 10)
	f := newFixtureWith(t, func(o *sns.CarrierOptions) {
		o.HTTP, o.Logger = nil, slog.New(slog.NewTextHandler(log, nil))
	})
	topic := f.topic("t", nil)
	for _, endpoint := range []string{"http://192.0.2.1/hook", "http://169.254.169.254/latest/meta-data"} {
		f.subscribe(topic, "http", endpoint, nil)
		if line := <-log; !strings.Contains(line, "--allow-endpoint") || !strings.Contains(line, endpoint) {
			t.Errorf("%s: the log has %s", endpoint, line)
		}
	}
	f.subscribe(topic, "http", server.URL+"/redirect", nil)
	if path := <-hits; path != "/redirect" {
		t.Errorf("the endpoint was called at %s", path)
	}
	server.Close() // waits for its calls
	if len(hits) > 0 {
		t.Errorf("the redirect was followed to %s", <-hits)
	}
}

// lines is a log whose lines a test receives.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// What the log says about an endpoint has neither its password nor its parameters.
func TestTheLogHasNoSecretsOfEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.answer = func(int) int { return 0 }
		topic := f.topic("t", nil)
		f.subscribe(topic, "http", "http://ada:hunter2@endpoint/hook?token=s3cr3t#s3cr3t", nil)
		time.Sleep(time.Hour) // all attempts
		synctest.Wait()
		text := f.log.String()
		if !strings.Contains(text, "http://...@endpoint/hook?...") || strings.Contains(text, "hunter2") ||
			strings.Contains(text, "s3cr3t") {
			t.Errorf("the log is\n%s", text)
		}
		f.subscribe(topic, "http", "http://ada:hunter2@endpoint/other?token=s3cr3t", nil)
		if _, err := f.client.ConfirmSubscription(f.ctx, &awssns.ConfirmSubscriptionInput{
			TopicArn: topic, Token: aws.String(f.service.Pending()[0].Token),
		}); err != nil {
			t.Fatal(err)
		}
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		time.Sleep(time.Hour) // all attempts
		synctest.Wait()
		if len(f.service.Failures()) == 0 {
			t.Error("no delivery has failed")
		}
		for _, failure := range f.service.Failures() {
			if strings.Contains(failure.Reason, "hunter2") || strings.Contains(failure.Reason, "s3cr3t") {
				t.Errorf("a failure's reason: %s", failure.Reason)
			}
		}
		if text := f.log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "s3cr3t") {
			t.Errorf("the log is\n%s", text)
		}
	})
}
