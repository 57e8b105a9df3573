package ops_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/ops"
)

// recorder is a server that answers one request after another, and then with 200.
type recorder struct {
	mu      sync.Mutex
	answers []answer
	times   []time.Time
	bodies  [][]byte
	headers []http.Header
}

type answer struct {
	status     int
	retryAfter string
	text       string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times, r.bodies = append(r.times, time.Now()), append(r.bodies, body)
	r.headers = append(r.headers, req.Header)
	a := answer{status: http.StatusOK, text: "ok"}
	if len(r.answers) > 0 {
		a, r.answers = r.answers[0], r.answers[1:]
	}
	if a.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	h := http.Header{}
	h.Set("Retry-After", a.retryAfter)
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: h, Request: req,
		Body: io.NopCloser(strings.NewReader(a.text)),
	}, nil
}

// Slack answers 429 with Retry-After, then 500, then not at all, and then takes the message: people read it once.
func TestSlackThatIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &street{}
		s.add("orders@dlq", 1)
		server := &recorder{answers: []answer{
			{429, "90", "rate_limited"},
			{500, "", "oops"},
			{0, "", ""},
			{503, time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat), ""},
		}}
		slack, err := ops.NewSlack(ops.SlackOptions{
			URL: "https://hooks.slack.com/services/T/B/secret", Transport: server,
		})
		if err != nil {
			t.Fatal(err)
		}
		a := newAlerts(t, s, ops.AlertsOptions{Routes: to(slack)})
		began := time.Now()
		if _, err := a.Once(t.Context(), ops.LookAll); err != nil {
			t.Fatal(err)
		}
		if len(server.times) != 5 || server.times[1].Sub(began) != 90*time.Second ||
			server.times[4].Sub(began) < 5*time.Minute || server.times[4].Sub(began) > 6*time.Minute {
			t.Errorf("tried at %v", server.times)
		}
		if _, err := a.Once(t.Context(), ops.LookAll); err != nil || len(server.times) != 5 {
			t.Errorf("told again: %v", err)
		}
	})
}

// No error and no line of the log has a secret, whatever the server answers.
func TestWebhookSecretsStaySecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address, key = "https://user:pass@hooks.example.com/T0/s3cr3t?token=t0k3n", "0123456789abcdef-key"
		for _, a := range []answer{
			{404, "", "no_service at /T0/s3cr3t?token=t0k3n " + key}, {0, "", ""}, {302, "", "to " + address},
		} {
			var log bytes.Buffer
			s := &street{}
			s.add("orders", 2000)
			server := &recorder{}
			for range 100 {
				server.answers = append(server.answers, a)
			}
			hook, err := ops.NewWebhook(ops.WebhookOptions{URL: address, Secret: []byte(key), Transport: server})
			if err != nil {
				t.Fatal(err)
			}
			alerts := newAlerts(t, s, ops.AlertsOptions{
				Routes: to(hook), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			_, err = alerts.Once(t.Context(), ops.LookAll)
			if err == nil {
				t.Fatalf("%v: no error", a)
			}
			for _, secret := range []string{"s3cr3t", "t0k3n", key, "pass"} {
				if strings.Contains(err.Error()+log.String(), secret) {
					t.Errorf("%s is in %v\n%s", secret, err, &log)
				}
			}
		}
	})
}

// The receiver of a webhook checks the signature over the time and the body.
func TestWebhookSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := []byte("0123456789abcdef")
		s, server := &street{}, &recorder{}
		s.add("orders@dlq", 1)
		hook, err := ops.NewWebhook(ops.WebhookOptions{URL: "http://alerts.internal/", Secret: secret, Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newAlerts(t, s, ops.AlertsOptions{Routes: to(hook)}).Once(t.Context(), ops.LookAll); err != nil {
			t.Fatal(err)
		}
		h, body := server.headers[0], server.bodies[0]
		if err := ops.VerifyWebhook(secret, h, body, time.Minute); err != nil || h.Get(ops.WebhookNotice) == "" {
			t.Errorf("%v: %v", err, h)
		}
		changed := bytes.Replace(body, []byte("orders"), []byte("others"), 1)
		if err := ops.VerifyWebhook(secret, h, changed, time.Minute); err == nil {
			t.Error("a changed body was accepted")
		}
		if err := ops.VerifyWebhook([]byte("another secret 12"), h, body, time.Minute); err == nil {
			t.Error("another secret was accepted")
		}
		time.Sleep(2 * time.Minute)
		if err := ops.VerifyWebhook(secret, h, body, time.Minute); err == nil {
			t.Error("an old request was accepted")
		}
		h.Set(ops.WebhookTimestamp, "now")
		if err := ops.VerifyWebhook(secret, h, body, time.Minute); err == nil {
			t.Error("no time was accepted")
		}
	})
}

// A wrong address, and a secret that is too short, are errors at construction, which do not show them.
func TestWebhookRefuses(t *testing.T) {
	for _, address := range []string{
		"", "hooks.slack.com/services/T/B/x", "ftp://a/b", "https://", "https:///path", "https://a/b#c", "://s3cr3t",
		"https://a b/s3cr3t",
	} {
		_, err := ops.NewSlack(ops.SlackOptions{URL: address})
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "SlackOptions.URL") {
			t.Errorf("%q: %v", address, err)
		}
	}
	_, err := ops.NewWebhook(ops.WebhookOptions{URL: "https://a/b", Secret: []byte("short")})
	if err == nil || strings.Contains(err.Error(), "short") || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("%v", err)
	}
}
