package console_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// told is a backend with the counts that the test gives it.
type told struct {
	driver.Backend
	acts map[string]driver.Activity
	ages map[string]time.Duration
}

func (c *told) Operations() driver.Operations {
	do := driver.OperationsOf(c.Backend)
	do.Inspect = c.Inspect
	do.Activity = func(_ context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
		all := make([]driver.Activity, len(cs))
		for i := range cs {
			a, ok := c.acts[cs[i].String()]
			if !ok {
				unknown := driver.Reading[int64]{Err: driver.ErrNotCounted}
				a = driver.Activity{
					Sent: unknown, SentBytes: unknown, Received: unknown, EmptyReceives: unknown, Deleted: unknown,
					Oldest: driver.Reading[time.Duration]{Err: driver.ErrNotCounted},
				}
			}
			a.Channel, a.Since, a.Until = cs[i], since, time.Now()
			if age, ok := c.ages[cs[i].String()]; ok {
				a.Oldest = driver.Reading[time.Duration]{Value: age}
			}
			all[i] = a
		}
		return all, nil
	}
	return do
}

func (c *told) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	d, err := driver.OperationsOf(c.Backend).Inspect(ctx, ch)
	if age, ok := c.ages[ch.String()]; ok {
		d.Oldest = age
	}
	return d, err
}

func number(n int64) driver.Reading[int64] { return driver.Reading[int64]{Value: n} }

// The map has exchanges, queues and dead letters; a filter that lets nothing through is grey.
func TestMap(t *testing.T) {
	wrap := func(b driver.Backend) driver.Backend {
		return &told{Backend: b, acts: map[string]driver.Activity{
			"events.*": {Sent: number(500)}, "events.audit": {Sent: number(500)}, "events.mobile": {Sent: number(0)},
		}}
	}
	inWrapped(t, &console.Options{}, wrap, func(w *world) {
		mobile := driver.Channel{Exchange: "events", Queue: "mobile", Ordered: true}
		err := w.local.Ensure(w.Context(), driver.ChannelSpec{
			Channel: mobile, Owner: true, Filter: driver.Filter{Prefix: []string{"MOBIEL."}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.kill(noStock, "x")
		page := w.get("/map")
		w.says(page, "c-map", "events.audit", "c-blocked", "MOBIEL.", "dead letters")
		if n := strings.Count(page, "c-link c-blocked"); n != 2 {
			t.Errorf("%d links are blocked, want one in the picture for each width of screens", n)
		}
		w.silent(w.get("/map?q=mails"), "events.audit")
		w.says(w.get("/map?q=nothing"), "No queue has these words")
	})
}

// What channels cost is between single requests and full batches, with each 64 KiB of a message as a request; a
// retention about to expire is critical.
func TestCosts(t *testing.T) {
	wrap := func(b driver.Backend) driver.Backend {
		return &told{
			Backend: b, ages: map[string]time.Duration{"mails": 13 * 24 * time.Hour},
			acts: map[string]driver.Activity{"orders": {
				Sent: number(1_000_000), Received: number(1_000_000), Deleted: number(1_000_000),
				EmptyReceives: number(0),
			}, "events.audit": {
				Sent: number(1_000_000), Received: number(1_000_000), Deleted: number(1_000_000),
				EmptyReceives: number(0), SentBytes: number(1_000_000 * 100 << 10),
			}, "events.*": {
				Sent: number(1_000_000), SentBytes: number(1_000_000 * 100 << 10), Received: number(0),
			}},
		}
	}
	inWrapped(t, &console.Options{}, wrap, func(w *world) {
		w.send(mails, driver.Message{Body: []byte("x")})
		page := w.get("/costs")
		w.says(page, "$864.00", "$86.40", "3.0", "c-bars", "Messages are about to expire: 92 %", "13 d of 14 d")
		// Ordered ones: five requests a message at half a dollar a million, or less than two and a half; and the
		// exchange by bytes, which are the same in batches.
		w.says(page, "$1\u2009800", "$1\u2009161", "5.0", "100.0 KiB", "$1\u2009383", "$1\u2009189", "by bytes")
		w.says(w.get("/"), "the oldest message waits for 13 d, and 15 min are tolerated")
	})
}

// A process that is the console's own shows its handlers, the stack of a stuck one, and what a key blocks.
func TestWorkersAndTenants(t *testing.T) {
	own, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, &console.Options{}, func(w *world) {
		w.says(w.get("/workers"), "No process reports", "--workers")
		w.says(w.get("/tenants"), "No process reports")
		w.says(w.get("/channel/orders"), "No process with consumers")
	})
	inWorld(t, &console.Options{Own: own}, func(w *world) {
		c, err := godwit.NewConsumer(w.Context(), w.local, "events.audit", &godwit.ConsumerOptions{
			Ordered: true, Concurrency: 1, ProcessingTimeout: time.Minute, Hooks: own.Hooks("events.audit"),
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"slow", "quick", "other"} {
			w.send(driver.Channel{Exchange: "events", Ordered: true},
				driver.Message{OrderKey: key, Body: []byte(key)})
		}
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
				if string(d.Body) == "slow" {
					<-ctx.Done()
				}
				return ctx.Err()
			})
		}()
		time.Sleep(45 * time.Second)
		w.says(w.get("/workers"), "c-lanes", "1 handler of 1 used more than half", "TestWorkersAndTenants",
			"key slow", "Processing")
		w.says(w.get("/tenants"), "c-bars", "events.audit slow", `<span class="tag">slow</span> for 45 s`)
		figures, err := console.New(w.b, &console.Options{Own: own})
		if err != nil {
			t.Fatal(err)
		}
		acting := w.c
		w.c = figures
		w.silent(w.get("/workers"), "slow", "TestWorkersAndTenants")
		w.refused(w.do("GET", "/tenants", nil), 403, "needs bodies")
		if w.c = acting; figures.Close(context.Background()) != nil {
			t.Error("the console does not close")
		}
		w.get("/")
		time.Sleep(time.Second)
		w.says(w.get("/channel/events.audit"), "p99")
		stop()
		<-ended
	})
}

// The processes of a list are asked over HTTP; one that does not answer is named.
func TestProcesses(t *testing.T) {
	workers, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	workers.Hooks("orders")
	server := httptest.NewServer(workers)
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(gone.Listener.Addr().String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := console.New(b, &console.Options{Workers: []string{
		server.Listener.Addr().String() + "/workers",
		"@" + list,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	w := &world{T: t, b: b, c: c, as: &http.Header{}}
	w.says(w.get("/workers"), "not made yet", gone.Listener.Addr().String()+" does not report")
	for _, wrong := range []string{"@" + list + "x", "ftp://x", "http://", "%"} {
		if _, err := console.New(b, &console.Options{Workers: []string{wrong}}); err == nil {
			t.Errorf("%q is allowed", wrong)
		}
	}
}

// The flow of a channel has how many handlers start, fail and are rejected, if a process reports it; else that is
// unknown, and not zero.
func TestFlow(t *testing.T) {
	own, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, &console.Options{Own: own}, func(w *world) {
		w.says(w.get("/channel/orders"), "retried unknown", "rejected unknown", "started unknown")
		c, err := godwit.NewConsumer(w.Context(), w.local, "orders", &godwit.ConsumerOptions{
			Hooks: own.Hooks("orders"), Logger: slog.New(slog.DiscardHandler), Backoff: godwit.Constant(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			w.send(orders, driver.Message{Body: fmt.Append(nil, i)})
		}
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				switch n, _ := strconv.Atoi(string(d.Body)); {
				case n < 3:
					return godwit.Permanent(errors.New("no stock"))
				case n < 12:
					return errors.New("later")
				}
				return nil
			})
		}()
		time.Sleep(time.Minute)
		w.says(w.get("/channel/orders"), "started 0.1/s", "retried 0.03/s", "rejected 0.01/s")
		time.Sleep(5 * time.Minute)
		w.says(w.get("/channel/orders"), "started 0/s", "retried 0/s", "rejected 0/s")
		stop()
		<-ended
	})
}
