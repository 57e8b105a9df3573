package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
)

// ask asks as a client at an address.
func askWorkers(t *testing.T, w *ops.Workers, remote, query string) (status int, r ops.WorkersReport) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/"+query, nil)
	request.RemoteAddr = remote
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, request)
	if recorder.Code == 200 {
		if err := json.Unmarshal(recorder.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
	}
	return recorder.Code, r
}

// A process tells which handlers run with their keys, the stack of a slow one, and how the last ones ended.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close(context.Background())
		w, err := ops.NewWorkers(nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{
			Ordered: true, Concurrency: 4, ProcessingTimeout: time.Minute, Hooks: w.Hooks("orders"),
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(t.Context(), b, "orders", &godwit.ProducerOptions{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{"good", "bad", "stuck", "behind"} {
			key := body
			if body == "behind" {
				key = "stuck"
			}
			if err := p.Send(t.Context(), godwit.Message{OrderKey: key, Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err := c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
				switch string(d.Body) {
				case "stuck":
					<-ctx.Done()
					return ctx.Err()
				case "bad":
					return godwit.Permanent(errors.New("no price for article 17"))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(40 * time.Second)
		status, r := askWorkers(t, w, "127.0.0.1:1", "?stacks")
		if status != 200 || len(r.Consumers) != 1 {
			t.Fatalf("%d %+v", status, r)
		}
		one := r.Consumers[0]
		if one.Handled != 1 || one.Rejected != 1 || len(one.Ends) != 2 || one.Timeout != time.Minute ||
			one.Workers != 4 || one.Blocked < 30*time.Second || one.Waiting != 1 {
			t.Errorf("%+v", one)
		}
		for _, e := range one.Ends {
			if e.OrderKey == "bad" && e.Error != "no price for article <n>" {
				t.Errorf("%+v", e)
			}
		}
		if len(one.Running) != 1 || one.Running[0].OrderKey != "stuck" || one.Running[0].Attempt != 1 ||
			!strings.Contains(one.Running[0].Stack, "TestWorkers") ||
			time.Since(one.Running[0].Since) < 30*time.Second {
			t.Errorf("%+v", one.Running)
		}
		if _, r := askWorkers(t, w, "[::1]:1", ""); r.Consumers[0].Running[0].Stack != "" {
			t.Error("a stack that nobody asked for")
		}
		stop()
		<-ended
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Only this machine may ask, or the addresses that are named.
func TestWorkersFrom(t *testing.T) {
	w, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	named, err := ops.NewWorkers(&ops.WorkersOptions{From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		w      *ops.Workers
		remote string
		status int
	}{
		{w, "127.0.0.1:1", 200},
		{w, "10.0.0.1:1", 403},
		{w, "", 403},
		{named, "10.0.0.1:1", 200},
		{named, "127.0.0.1:1", 403},
	} {
		if status, _ := askWorkers(t, c.w, c.remote, ""); status != c.status {
			t.Errorf("%q: %d, want %d", c.remote, status, c.status)
		}
	}
	if _, err := ops.NewWorkers(&ops.WorkersOptions{From: []netip.Prefix{{}}}); err == nil {
		t.Error("no range of addresses is allowed")
	}
}
