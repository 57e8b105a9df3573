package snssqs_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

func credentialsOfTheTest(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
}

// failing answers some actions with status 500, and counts the calls.
type failing struct {
	next    http.RoundTripper
	on      atomic.Bool
	refused atomic.Int64
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !f.on.Load() {
		return f.next.RoundTrip(r)
	}
	f.refused.Add(1)
	return &http.Response{
		StatusCode: 500, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")),
		Request: r,
	}, nil
}

// The SDK retries none of these calls, whatever the caller's own clients are set to.
func TestSendsPollsAndSettlesAreTriedOnce(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		f := &failing{next: w.server.Transport()}
		conf := w.conf
		conf.HTTPClient, conf.RetryMaxAttempts, conf.RetryMode = &http.Client{Transport: f}, 7, aws.RetryModeAdaptive
		for name, o := range map[string]snssqs.Options{
			"the caller's clients": {
				SQS: sqs.NewFromConfig(conf),
				SNS: sns.NewFromConfig(conf, func(o *sns.Options) { o.RetryMaxAttempts = 9 }),
			},
			"our own": {Transport: f},
		} {
			w.b = w.open(o)
			w.ensure(owner(audit))
			w.ensure(owner(orders))
			s, topic, r := w.sender(orders), w.sender(driver.Channel{Exchange: "wishlist_events"}), w.receiver(orders,
				driver.Filter{})
			p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			w.send(s, driver.Message{Body: []byte("x")})
			d := w.receive(r, 1)[0]
			settle := func(a driver.Action) error {
				return r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: a}})
			}
			for call, try := range map[string]func() error{
				"send":    func() error { return s.Send(w.Context(), []driver.Prepared{p}) },
				"publish": func() error { return topic.Send(w.Context(), []driver.Prepared{p}) },
				"poll":    func() error { _, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); return err },
				"delete":  func() error { return settle(driver.Done) },
				"release": func() error { return settle(driver.Release) },
			} {
				f.on.Store(true)
				f.refused.Store(0)
				err := try()
				f.on.Store(false)
				if n := f.refused.Load(); n != 1 || driver.ClassOf(err) != driver.Transient || err == nil {
					t.Errorf("%s, %s: %d requests, %v, of class %s; want one, of class transient", name, call, n, err,
						driver.ClassOf(err))
				}
			}
			if err := settle(driver.Done); err != nil {
				t.Error(err)
			}
		}
	})
}

// If the caller supplies both clients, nothing is read from the environment, and the account is looked up at their
// address.
func TestTheCallersClientsAreEnough(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	inWorld(t, localaws.Options{}, func(w *world) {
		b, err := snssqs.Open(w.Context(),
			&snssqs.Options{SQS: w.sqs, SNS: w.sns, Transport: w.server.Transport(), CancelPolls: true})
		if err != nil {
			t.Fatal(err)
		}
		w.b = b
		w.ensure(owner(audit))
		w.subscribed("wishlist_events", "wishlist_events--audit_log", "")
	})
}

// AWS_ENDPOINT_URL switches to a local server without a change of code.
func TestEndpointsFromTheEnvironment(t *testing.T) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{
		{"AWS_ENDPOINT_URL"},
		{"AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SNS", "AWS_ENDPOINT_URL_STS"},
	} {
		t.Run(names[0], func(t *testing.T) {
			for name, value := range map[string]string{
				"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k",
				"AWS_SECRET_ACCESS_KEY": "s",
			} {
				t.Setenv(name, value)
			}
			for _, name := range names {
				t.Setenv(name, "http://"+addr.String())
			}
			b, err := snssqs.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{T: t, b: b, server: server}
			w.ensure(owner(audit))
			w.send(w.sender(driver.Channel{Exchange: "wishlist_events"}), driver.Message{Body: []byte("x")})
			r := w.receiver(audit, driver.Filter{})
			d := w.receive(r, 1)
			if err := r.Settle(t.Context(), []driver.Settlement{{Handle: d[0].Handle}}); err != nil {
				t.Error(err)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The error about missing credentials says where they can come from.
func TestMissingCredentialsAreExplained(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_REGION", "eu-west-1")
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders, Owner: true})
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") ||
		!strings.Contains(err.Error(), "local.Open") {
		t.Errorf("without credentials: %v", err)
	}
}
