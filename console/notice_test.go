package console_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// The list has what the figures of channels do not show: retentions that end, filters that let nothing through.
func TestNowForesees(t *testing.T) {
	mobile := driver.Channel{Exchange: "events", Queue: "mobile", Ordered: true}
	wrap := func(b driver.Backend) driver.Backend {
		return &told{
			Backend: b, ages: map[string]time.Duration{"orders@dlq": 13 * 24 * time.Hour},
			acts: map[string]driver.Activity{
				"events.*": {Sent: number(20)}, "events.mobile": {Sent: number(0)}, "events.audit": {Sent: number(0)},
			},
		}
	}
	inWrapped(t, &console.Options{}, wrap, func(w *world) {
		wrong := driver.ChannelSpec{Channel: mobile, Owner: true, Filter: driver.Filter{Exact: []string{"MOBLIE"}}}
		if err := w.local.Ensure(w.Context(), wrong); err != nil {
			t.Fatal(err)
		}
		w.kill(noStock, bodies(1)...)
		w.get("/")
		time.Sleep(time.Minute)
		page := w.get("/")
		w.says(page, "the service deletes the oldest dead letter in 1 d, because its retention ends",
			`<a href="/channel/events.mobile#filter">its exchange got 20 messages in the last hour`)
		w.says(w.get("/costs"), `href="/channel/orders@dlq/dead">Messages are about to expire: 92 %`)
	})
}

// A filter is changed, and nothing else of the queue; where there is none, that is an error.
func TestFilterOfAQueue(t *testing.T) {
	inWorld(t, &console.Options{}, func(w *world) {
		tags := map[string]string{"owner": "shop"}
		before := driver.ChannelSpec{
			Channel: audit, Owner: true, Tags: tags, Retention: time.Hour, Mode: driver.Declare,
			Filter: driver.Filter{Prefix: []string{"A."}},
		}
		if err := w.local.Ensure(w.Context(), before); err != nil {
			t.Fatal(err)
		}
		w.says(w.get("/channel/events.audit"), "A.*", "Set the filter")
		to := w.post("/channel/events.audit/filter", "exact", "B C", "prefix", "D.")
		if to != "/channel/events.audit#filter" {
			t.Error(to)
		}
		w.says(w.get("/channel/events.audit"), "B, C, D.*")
		specs, err := driver.OperationsOf(w.local).Specs(w.Context(), []driver.Channel{audit})
		if err != nil || specs[0].Retention != time.Hour || specs[0].Tags["owner"] != "shop" ||
			len(specs[0].Filter.Exact) != 2 {
			t.Errorf("%+v, %v", specs, err)
		}
		w.post("/channel/events.audit/filter")
		w.says(w.get("/channel/events.audit"), "every message")
		w.says(w.get("/runs"), "Change the filter of events.audit", "every message passes")
		w.refused(w.do("POST", "/channel/events.audit/filter", values("exact", "a", "exclude", "b")), 400, "not both")
		w.refused(w.do("POST", "/channel/orders/filter", values("exact", "a")), 400, "cannot be changed here")
	})
}

// A stuck handler and a loud tenant are in the list, with their pages; a tenant's name is not for everybody.
func TestNotices(t *testing.T) {
	own, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, &console.Options{Own: own, Users: users()}, func(w *world) {
		c, err := godwit.NewConsumer(w.Context(), w.local, "orders", &godwit.ConsumerOptions{
			Concurrency: 1, ProcessingTimeout: time.Minute, Hooks: own.Hooks("orders"),
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"acme", "globex", "globex"} {
			w.send(orders, driver.Message{OrderKey: key, Body: []byte(key)})
			time.Sleep(time.Second)
		}
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
				if d.Tenant == "globex" {
					<-ctx.Done()
				}
				return ctx.Err()
			})
		}()
		page := func(name, password string) string { return w.do("GET", "/", nil, basic(name, password)).body }
		page("ada", "may-do-it-all-1")
		time.Sleep(45 * time.Second)
		w.says(page("ada", "may-do-it-all-1"), `<a href="/workers">1 handler of orders used more than half of the time`,
			`<a href="/tenants">Tenant globex takes 100 % of the handler time of orders, and`)
		figures := page("fay", "figures-only-1")
		w.says(figures, "One tenant takes 100 % of the handler time of orders")
		w.silent(figures, "lobex")
		stop()
		<-ended
	})
}
