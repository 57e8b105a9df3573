package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The list has problems first, and can be sorted and filtered by its address.
func TestNow(t *testing.T) {
	inWorld(t, &console.Options{Name: "shop"}, func(w *world) {
		w.kill(noStock, bodies(3)...)
		w.send(mails, driver.Message{Body: []byte("a")}, driver.Message{Body: []byte("b")})
		page := w.get("/")
		w.says(page, "1 of 3 channels needs attention", "3 dead letters", `href="/channel/orders@dlq/dead"`, "shop",
			"aria-current")
		order := func(page string) (names []string) {
			links := regexp.MustCompile(`<th scope="row"><a href="/channel/([^"]+)"`)
			for _, m := range links.FindAllStringSubmatch(page, -1) {
				names = append(names, m[1])
			}
			return names
		}
		for path, want := range map[string]string{
			"/": "orders mails events.audit", "/?sort=name": "events.audit mails orders", "/?q=AUD": "events.audit",
			"/?q=e+ud": "events.audit", "/?sort=waiting": "mails events.audit orders",
			"/?page=9":    "orders mails events.audit",
			"/?q=nothing": "",
		} {
			if got := strings.Join(order(w.get(path)), " "); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		w.says(w.get("/?q=nothing"), "No channel has these words")
		w.refused(w.do("GET", "/?sort=color", nil), 400, "there is no order")
		w.refused(w.do("GET", "/?page=x", nil), 400, "no number")
		w.refused(w.do("GET", "/nowhere", nil), 404, "there is no page")
	})
}

// hung is a backend that answers for its catalog only when the test says so.
type hung struct {
	driver.Backend
	answers chan struct{}
	fails   atomic.Bool
}

func (h *hung) Operations() driver.Operations {
	do := driver.OperationsOf(h.Backend)
	catalog := do.Catalog
	do.Catalog = func(ctx context.Context) ([]driver.ChannelInfo, error) {
		select {
		case <-h.answers:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if h.fails.Load() {
			return nil, errors.New("no answer from the moon")
		}
		return catalog(ctx)
	}
	return do
}

// A page does not wait for a service that does not answer; the last view is shown with its error.
func TestNowWhileTheServiceHangs(t *testing.T) {
	h := &hung{answers: make(chan struct{})}
	synctest.Test(t, func(t *testing.T) {
		h.answers = make(chan struct{})
		inner, err := memdriver.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		h.Backend = inner
		if err := inner.Ensure(t.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
			t.Fatal(err)
		}
		c, err := console.New(h, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		w := &world{T: t, b: h, c: c, as: &http.Header{}}
		began := time.Now()
		w.says(w.get("/"), "The first look", `http-equiv="refresh"`)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the page took %v", took)
		}
		close(h.answers)
		synctest.Wait()
		w.says(w.get("/"), "The channel is within bounds")
		h.fails.Store(true)
		time.Sleep(2 * time.Minute)
		w.says(w.get("/"), "The list of channels is old", "no answer from the moon", "/channel/orders")
	})
}

// The page of a channel has its charts, settings and policy; it pauses and resumes.
func TestChannel(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.ensure(driver.Channel{Queue: "tagged"}, map[string]string{"owner": "shop"})
		w.get("/")
		time.Sleep(time.Minute)
		page := w.get("/channel/tagged")
		w.says(page, "c-flow", "c-lines", "VisibilityTimeout", "Denies everybody sqs:*", "<dd>shop</dd>",
			"Within bounds", "ops.Workers")
		w.says(w.get("/channel/events.*"), "events.audit", "Queues")
		w.says(w.get("/channel/events.audit?span=6+h"), "<strong>6 h</strong>", `/channel/events.%2A`)
		if to := w.post("/channel/orders/pause"); to != "/channel/orders" {
			t.Error(to)
		}
		time.Sleep(time.Minute)
		w.says(w.get("/"), "it is paused")
		w.post("/channel/orders/resume")
		time.Sleep(time.Minute)
		w.silent(w.get("/"), "it is paused")
		w.says(w.get("/runs"), "Pause orders", "Resume orders", "this machine")
		w.refused(w.do("GET", "/channel/order", nil), 404, "The channel is gone", "perhaps orders")
		w.refused(w.do("POST", "/channel/gone/pause", values()), 404, "The channel is gone")
	})
}

// A stream sends the parts of a page, and later only what has changed.
func TestStream(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		w.get("/")
		ctx, cancel := context.WithCancel(w.Context())
		recorder := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/", nil)
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("Accept", "text/event-stream")
			w.c.ServeHTTP(recorder, r)
		}()
		time.Sleep(15 * time.Second)
		w.kill(noStock, bodies(2)...)
		time.Sleep(time.Minute)
		cancel()
		<-ended
		events := strings.Split(strings.TrimSpace(recorder.Body.String()), "\n\n")
		if len(events) < 4 {
			t.Fatalf("%d events", len(events))
		}
		parts := func(event string) map[string]string {
			_, data, _ := strings.Cut(event, "data: ")
			var all []struct{ ID, HTML string }
			if err := json.Unmarshal([]byte(data), &all); err != nil {
				t.Fatalf("%v: %.200s", err, event)
			}
			m := map[string]string{}
			for _, p := range all {
				m[p.ID] = p.HTML
			}
			return m
		}
		if first := parts(events[0]); len(first) != 2 || !strings.Contains(first["now-list"], "orders") {
			t.Errorf("%v", first)
		}
		if last := strings.Join(events, ""); !strings.Contains(last, "2 dead letters") {
			t.Errorf("the change is not in the stream")
		}
	})
}

// A console that is mounted below a path links to itself there, and an embedded server has its bar.
func TestPathAndLocal(t *testing.T) {
	l := &fakeLocal{}
	inWorld(t, &console.Options{Path: "/console/", Local: l}, func(w *world) {
		page := w.get("/console/")
		w.says(page, `href="/console/style.css"`, `href="/console/channel/orders"`, `action="/console/local/send"`,
			"slow sends")
		w.silent(page, `href="/channel`)
		w.post("/console/local/send", "channel", "orders", "body", "a kite", "back", "/console/channel/orders")
		w.post("/console/local/advance", "by", "15m")
		w.post("/console/local/fault", "fault", "slow sends")
		w.post("/console/local/reset", "sure", "on")
		want := "send orders a kite, advance 15m0s, inject slow sends, reset"
		if got := strings.Join(l.did, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		w.refused(w.do("POST", "/console/local/reset", values()), 400, "tick the box")
		w.refused(w.do("POST", "/console/local/advance", values("by", "-1h")), 400, "duration")
		w.refused(w.do("POST", "/console/local/fault", values("fault", "x")), 400, "no fault")
		w.refused(w.do("POST", "/console/local/send", values()), 400, "name the channel")
		w.refused(w.do("POST", "/console/local/dance", values()), 400, "no action")
		for back, want := range map[string]string{
			"//evil.example.com/": "/console/", "http://evil.example.com": "/console/", `/console/\evil`: "/console/",
			"/console/runs": "/console/runs",
		} {
			if to := w.post("/console/local/advance", "by", "1m", "back", back); to != want {
				t.Errorf("back to %s leads to %s", back, to)
			}
		}
	})
	inWorld(t, &console.Options{}, func(w *world) {
		w.refused(w.do("POST", "/local/reset", values("sure", "on")), 404, "no embedded server")
	})
}

type fakeLocal struct{ did []string }

func (l *fakeLocal) Send(_ context.Context, channel string, body []byte) error {
	l.did = append(l.did, "send "+channel+" "+string(body))
	return nil
}
func (l *fakeLocal) Advance(d time.Duration) { l.did = append(l.did, "advance "+d.String()) }
func (l *fakeLocal) Faults() []string        { return []string{"slow sends"} }
func (l *fakeLocal) Injected() string        { return "" }
func (l *fakeLocal) Reset()                  { l.did = append(l.did, "reset") }
func (l *fakeLocal) Inject(fault string) error {
	if fault != "" {
		l.did = append(l.did, "inject "+fault)
	}
	return nil
}

// The charts begin before the first look, with what CloudWatch has counted; without its permission the pages say so,
// and everything else is there.
func TestChartsBeforeTheFirstLook(t *testing.T) {
	for _, denied := range []bool{false, true} {
		inWorld(t, &console.Options{}, func(w *world) {
			if denied {
				w.local.Server().Control("cloudwatch.GetMetricData",
					func(context.Context, *localaws.Request) localaws.Outcome {
						return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
					})
			}
			w.send(mails, driver.Message{Body: []byte("x")}, driver.Message{Body: []byte("y")})
			time.Sleep(50 * time.Minute)
			w.get("/")
			time.Sleep(time.Minute)
			page := w.get("/channel/mails")
			if denied {
				w.says(page, "23:51 to 00:49: unknown", "Times in which nobody has looked are unknown",
					"cloudwatch:GetMetricData")
				w.says(w.get("/"), "The time before the first look is unknown", "cloudwatch:GetMetricData")
				return
			}
			w.says(page, "23:51 to 23:59: unknown", "are as the service has counted them") // it was made at midnight
			w.silent(page, "00:49: unknown")
			w.silent(w.get("/"), "is unknown")
		})
	}
}
