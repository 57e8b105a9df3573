package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/lambdaruntime"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/ops"
)

// people are told over HTTP: those of /slack by blocks, and those of /webhook by notices with a signature.
type people struct {
	testing.TB
	*httptest.Server

	mu      sync.Mutex
	status  int            // of the answers
	slack   int            // how many messages
	webhook map[string]int // by channel and kind: how often they were told
}

func newPeople(t testing.TB) *people {
	p := &people{TB: t, status: http.StatusOK, webhook: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Server.Close)
	return p
}

func (p *people) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.WriteHeader(p.status)
	if r.URL.Path == "/services/T/B/"+secret {
		p.slack++
		return
	}
	var n driver.Notice
	err = ops.VerifyWebhook([]byte(secret), r.Header, body, time.Minute)
	if err = errors.Join(err, json.Unmarshal(body, &n)); err != nil {
		p.Errorf("%s: %v", r.URL.Path, err)
	}
	for i := range n.Items {
		p.webhook[n.Items[i].Channel+" "+n.Items[i].Kind]++
	}
}

func (p *people) answer(status int) {
	p.mu.Lock()
	p.status = status
	p.mu.Unlock()
}

// told is what people know, and how many messages Slack has.
func (p *people) told() (webhook map[string]int, slack int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.webhook), p.slack
}

func (p *people) variables() map[string]string {
	return map[string]string{
		"GODWIT_SLACK_URL": p.URL + "/services/T/B/" + secret, "GODWIT_WEBHOOK_URL": p.URL + "/webhook",
		"GODWIT_WEBHOOK_SECRET": secret,
	}
}

// report invokes a function, and returns its report.
func report[T any](t testing.TB, f *lambdaruntime.Function, event string) (r T) {
	t.Helper()
	answer, err := f.Invoke([]byte(event), 5*time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	d := json.NewDecoder(strings.NewReader(string(answer)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%s is answered with %s: %v", event, answer, err)
	}
	return r
}

// A function tells what waits and which dead letters there are, each once, and its log has all of it but the secrets.
func TestAlerts(t *testing.T) {
	w := newWorld(t, "prod")
	p := newPeople(t)
	w.make("orders")
	w.make("returns")
	w.put("orders", "a kite", "a kite")
	w.put("returns@dlq", "a kite")
	variables := p.variables()
	variables["GODWIT_NAMESPACE"], variables["GODWIT_SNS_TOPIC"] = "prod", w.topic
	variables["GODWIT_ALERT_OWNERS"] = "shop, bank"
	f := w.start(t, variables)
	stop := w.record()
	const routes = 4
	for _, c := range []struct {
		run        string
		open, told int
	}{
		{"sources", 2, 2 * routes}, // the bank has no channels, which is an alert
		{"dead-letters", 2, routes},
		{"sources", 2, 0},
		{"dead-letters", 2, 0},
	} {
		r := report[ops.AlertReport](t, f, `{"run":"`+c.run+`"}`)
		if r.Open != c.open || r.Told != c.told || r.Channels != 2 || time.Since(r.At) > time.Minute {
			t.Errorf("%s: %+v", c.run, r)
		}
	}
	stop()
	w.granted("GodwitAlertsFunction", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics", "s3:ListBucket")
	told, slack := p.told()
	want := map[string]int{"orders waiting": 1, "returns@dlq dead-letters": 1, " owner": 1}
	if fmt.Sprint(told) != fmt.Sprint(want) || slack != 2 || w.Server().Calls()["sns.Publish"] != 2 {
		t.Errorf("told %v, Slack %d times, %v", told, slack, w.Server().Calls())
	}
	for _, text := range []string{
		"CRITICAL OPENED orders: 2 messages waiting (limit 2)", "CRITICAL OPENED returns@dlq: 1 dead letter (limit 1)",
		"$ godwit requeue returns@dlq --namespace prod", "aws prod: ",
	} {
		if !strings.Contains(f.Log(), text) {
			t.Errorf("%q is missing in the log", text)
		}
	}
	if state := string(w.object("states/prod/alerts.json")); !strings.Contains(state, "orders") {
		t.Errorf("the state is %s", state)
	}
	// An address that does not exist is an error, and the report is in the log.
	w.put("returns", "a kite", "a kite")
	p.answer(http.StatusNotFound)
	_, err := f.Invoke([]byte(`{"run":"sources"}`), 5*time.Minute)
	if err == nil || !strings.Contains(err.Error(), "slack") || !strings.Contains(err.Error(), "404") ||
		!strings.Contains(f.Log(), `run sources has failed; its report is {"at":`) {
		t.Errorf("of an address that does not exist: %v", err)
	}
	if strings.Contains(f.Log()+fmt.Sprint(err), secret) {
		t.Errorf("a secret is in the error or in the log: %v\n%s", err, f.Log())
	}
}

// Of two functions at the same moment, both look, and each alert is told by one of them.
func TestTwoFunctionsAtOnce(t *testing.T) {
	w := newWorld(t, "")
	p := newPeople(t)
	want := map[string]int{}
	for i := range 10 {
		name := fmt.Sprintf("orders_%d", i)
		w.make(name)
		w.put(name, "a kite", "a kite")
		want[name+" waiting"] = 1
	}
	// Both read the state before one of them writes it.
	var mu sync.Mutex
	readers, both := 0, make(chan struct{})
	defer w.Server().Control("s3.GetObject", func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
		mu.Lock()
		if readers++; readers == 2 {
			close(both)
		}
		mu.Unlock()
		select {
		case <-both:
		case <-ctx.Done():
		}
		return localaws.Outcome{}
	})()
	var wg sync.WaitGroup
	told := make([]int, 2)
	for i := range told {
		f := w.start(t, p.variables())
		wg.Go(func() {
			answer, err := f.Invoke([]byte(`{"run":"sources"}`), time.Minute)
			var r ops.AlertReport
			if err = errors.Join(err, json.Unmarshal(answer, &r)); err != nil || r.Open != 10 {
				t.Errorf("%s, %v", answer, err)
			}
			told[i] = r.Told
		})
	}
	wg.Wait()
	const routes = 3
	webhook, slack := p.told()
	if fmt.Sprint(webhook) != fmt.Sprint(want) || slack != 1 || told[0]+told[1] != 10*routes {
		t.Errorf("told %v and %d; by webhook %v; Slack %d times", told[0], told[1], webhook, slack)
	}
}

// An event that names no run, and settings that cannot work, are errors that say what to set. The function then goes
// on.
func TestErrors(t *testing.T) {
	w := newWorld(t, "")
	w.make("orders")
	const inputs = `{"run":"sources"}, {"run":"dead-letters"} or {"run":"sweep"}`
	for name, c := range map[string]struct {
		variables, event string
		timeout          time.Duration // 0: 5 minutes
		want             []string
	}{
		"unknown run": {event: `{"run":"orphans"}`, want: []string{`run "orphans" is unknown`, inputs}},
		"no run":      {event: `{}`, want: []string{"names no run", inputs}},
		"empty run":   {event: `{"run":""}`, want: []string{`run "" is unknown`, inputs}},
		"broken JSON": {event: `{"run":"sweep"`, want: []string{"cannot be read", inputs}},
		"no JSON":     {event: `sweep`, want: []string{"cannot be read", inputs}},
		"empty":       {event: ``, want: []string{"cannot be read", inputs}},
		"no text":     {event: `{"run":1}`, want: []string{"cannot be read", inputs}},
		"no object":   {event: `["sweep"]`, want: []string{"cannot be read", inputs}},
		"null":        {event: `null`, want: []string{"names no run", inputs}},
		"two values":  {event: `{"run":"sources"} {"run":"sweep"}`, want: []string{"more than one", inputs}},
		"EventBridge's own": {
			event: `{"version":"0","detail-type":"Scheduled Event"}`, want: []string{"version", inputs},
		},
		"no owner": {
			variables: "GODWIT_OWNER=", event: `{"run":"sweep"}`, want: []string{"GODWIT_OWNER is not set"},
		},
		"no state": {
			variables: "GODWIT_STATE=", event: `{"run":"sources"}`, want: []string{"GODWIT_STATE is not set"},
		},
		"a file as state": {
			variables: "GODWIT_STATE=/tmp/state", event: `{"run":"sources"}`,
			want: []string{"GODWIT_STATE", "s3://bucket/key"},
		},
		"an owner of nothing": {
			variables: "GODWIT_OWNER=bank", event: `{"run":"sweep"}`, want: []string{"owner=bank", "channels of shop"},
		},
		"no address of Slack": {
			variables: "GODWIT_SLACK_URL=" + secret, event: `{"run":"sources"}`, want: []string{"GODWIT_SLACK_URL"},
		},
		"a webhook without a key": {
			variables: "GODWIT_WEBHOOK_URL=https://example.com", event: `{"run":"sources"}`,
			want: []string{"GODWIT_WEBHOOK_SECRET", "16"},
		},
		"a key without a webhook": {
			variables: "GODWIT_WEBHOOK_SECRET=" + secret, event: `{"run":"dead-letters"}`,
			want: []string{"GODWIT_WEBHOOK_URL"},
		},
		"no ARN": {
			variables: "GODWIT_SNS_TOPIC=people", event: `{"run":"sources"}`,
			want: []string{"GODWIT_SNS_TOPIC", "no ARN"},
		},
		"Lambda's default timeout": {
			event: `{"run":"sources"}`, timeout: 3 * time.Second, want: []string{"raise the timeout"},
		},
		"a short timeout": {
			event: `{"run":"sweep"}`, timeout: time.Minute, want: []string{"raise the timeout", "1m40s"},
		},
		"no bucket": {
			variables: "GODWIT_STATE=s3://nowhere", event: `{"run":"sources"}`, want: []string{"s3://nowhere/alerts.json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			variables := map[string]string{}
			if name, value, has := strings.Cut(c.variables, "="); has {
				variables[name] = value
			}
			f := w.start(t, variables)
			timeout := c.timeout
			if timeout == 0 {
				timeout = 5 * time.Minute
			}
			answer, err := f.Invoke([]byte(c.event), timeout)
			if reported, ok := errors.AsType[*lambdaruntime.Error](err); !ok || answer != nil ||
				!strings.HasPrefix(reported.Message, "godwit-lambda: ") {
				t.Fatalf("%s, %v", answer, err)
			}
			for _, text := range c.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is missing in %v", text, err)
				}
			}
			if strings.Contains(err.Error()+f.Log(), secret) {
				t.Errorf("a secret is in %v\n%s", err, f.Log())
			}
			if c.variables == "" {
				report[ops.AlertReport](t, f, `{"run":"sources"}`)
			}
		})
	}
}
