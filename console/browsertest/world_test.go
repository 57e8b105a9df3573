// Package browsertest drives a real Chromium through the console.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
)

// world is a console on the embedded server.
type world struct {
	*testing.T
	b *local.Backend
}

// newWorld opens the server; serve begins the console on it.
func newWorld(t *testing.T) *world {
	t.Helper()
	b, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &world{T: t, b: b}
}

// serve serves a console on a backend, and returns its address.
func (w *world) serve(b driver.Backend, o *console.Options) string {
	w.Helper()
	c, err := console.New(b, o)
	if err != nil {
		w.Fatal(err)
	}
	server := httptest.NewServer(c)
	w.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			w.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func (w *world) ensure(ch driver.Channel, tags map[string]string) {
	w.Helper()
	if err := w.b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch, Owner: true, Tags: tags}); err != nil {
		w.Fatal(err)
	}
}

// send sends messages.
func (w *world) send(ch driver.Channel, ms ...driver.Message) {
	w.Helper()
	s, err := w.b.Sender(w.Context(), ch)
	if err != nil {
		w.Fatal(err)
	}
	for len(ms) > 0 {
		n := min(10, len(ms))
		batch := make([]driver.Prepared, n)
		for i := range n {
			if batch[i], err = s.Prepare(w.Context(), &ms[i]); err != nil {
				w.Fatal(err)
			}
		}
		if err := s.Send(w.Context(), batch); err != nil {
			w.Fatal(err)
		}
		ms = ms[n:]
	}
	if err := s.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// reject rejects n messages of a channel.
func (w *world) reject(ch driver.Channel, n int, death func(i int, d *driver.Delivery) driver.Death) {
	w.Helper()
	r, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 10, Lease: time.Minute})
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < n; {
		ds, err := r.Receive(w.Context(), driver.Ask{Max: min(10, n-i)}, nil)
		if err != nil {
			w.Fatal(err)
		}
		batch := make([]driver.Settlement, len(ds))
		for k := range ds {
			d := death(i, &ds[k])
			batch[k] = driver.Settlement{Handle: ds[k].Handle, Action: driver.Reject, Death: &d}
			i++
		}
		if err := r.Settle(w.Context(), batch); err != nil {
			w.Fatal(err)
		}
	}
	if err := r.Close(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// hold receives n messages, and keeps them in flight.
func (w *world) hold(ch driver.Channel, n int) {
	w.Helper()
	r, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: n, Lease: time.Hour})
	if err != nil {
		w.Fatal(err)
	}
	for held := 0; held < n; {
		ds, err := r.Receive(w.Context(), driver.Ask{Max: min(10, n-held)}, nil)
		if err != nil {
			w.Fatal(err)
		}
		held += len(ds)
	}
	w.Cleanup(func() { _ = r.Close(context.Background()) })
}

func body(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

var (
	orders = driver.Channel{Queue: "orders"}
	mails  = driver.Channel{Queue: "mails"}
)

// incidents makes channels in which something is wrong, and returns the backend that tells their rates and ages.
func (w *world) incidents() (*busy, map[string]float64) {
	w.Helper()
	one := func(name string) driver.Channel { return driver.Channel{Queue: name} }
	for _, name := range []string{
		"orders", "mails", "invoices", "reports", "thumbnails", "search-index", "payouts",
		"webhooks",
	} {
		w.ensure(one(name), map[string]string{"owner": "shop", "alarm-age": "900"})
	}
	audit := driver.Channel{Exchange: "wishlist_events", Queue: "audit_log", Ordered: true}
	mobile := driver.Channel{Exchange: "wishlist_events", Queue: "mobile", Ordered: true}
	w.ensure(audit, nil)
	w.ensure(mobile, nil)
	if err := w.b.Ensure(w.Context(), driver.ChannelSpec{
		Channel: driver.Channel{Exchange: "wishlist_events", Queue: "stock", Ordered: true}, Owner: true,
		Filter: driver.Filter{Prefix: []string{"STOKC."}},
	}); err != nil {
		w.Fatal(err)
	}
	now := time.Now()
	errors := []struct{ kind, text, typ string }{
		{
			"exhausted", `insert order %d: pq: duplicate key value violates unique constraint "orders_pkey"`,
			"order.placed",
		},
		{"timeout", "the handler ran for 30s, message %d", "order.placed"},
		{"permanent", "no price for article 77%d in currency \"\"", "order.refunded"},
		{"panic", "runtime error: index out of range [%d] with length 3", "order.placed"},
	}
	const dead = 240
	var ms []driver.Message
	for i := range dead {
		e := errors[min(3, i*i/(dead*dead/7))]
		ms = append(ms, driver.Message{
			Type: e.typ, Body: body(map[string]any{
				"order": 1000 + i, "article": "kite", "currency": "",
				"amount": i % 90, "user": map[string]any{"name": "Ada", "mail": "ada@example.com"},
			}),
			Header: []driver.Header{
				{Name: "tenant", Value: []string{"acme", "globex"}[i%2]},
				{Name: "traceparent", Value: fmt.Sprintf("00-4bf92f3577b34da6a3ce929d0e0e%04d-00f067aa0ba902b7-01",
					i)},
			},
		})
	}
	w.send(orders, ms...)
	w.reject(orders, dead, func(i int, d *driver.Delivery) driver.Death {
		e := errors[min(3, i*i/(dead*dead/7))]
		at := now.Add(-time.Duration(dead-i)*time.Minute - time.Duration(i*i%37)*time.Minute)
		return driver.Death{
			Kind: e.kind, Error: fmt.Sprintf(e.text, i), Consumer: "shop-7f9c", Channel: "orders", Attempts: 3,
			First: at.Add(-40 * time.Second), Last: at,
		}
	})
	many := func(ch driver.Channel, n int) {
		ms := make([]driver.Message, n)
		for i := range ms {
			ms[i] = driver.Message{
				Body:       body(map[string]any{"n": i, "to": "ada@example.com"}),
				OrderKey:   map[bool]string{true: fmt.Sprint("user-", i%20)}[ch.Ordered],
				RoutingKey: map[bool]string{true: "MOBILE.APPLE"}[ch.Ordered],
			}
		}
		w.send(ch, ms...)
	}
	many(one("reports"), 60)
	many(one("invoices"), 30)
	w.hold(one("invoices"), 8)
	many(mails, 12)
	many(orders, 25)
	w.hold(orders, 6)
	many(driver.Channel{Exchange: "wishlist_events", Ordered: true}, 40)
	if _, err := w.b.Pause(w.Context(), one("payouts"), false); err != nil {
		w.Fatal(err)
	}
	many(one("payouts"), 3)
	b := &busy{
		Backend: w.b,
		rates: map[string][2]float64{
			"orders": {42, 40.5}, "mails": {18, 18}, "invoices": {3.2, 0}, "reports": {0.4, 0.1},
			"thumbnails":   {120, 119},
			"search-index": {64, 64}, "webhooks": {7.5, 7.4}, "wishlist_events.*": {25, 0},
			"wishlist_events.audit_log": {25, 25}, "wishlist_events.mobile": {25, 24},
		},
		ages: map[string]time.Duration{
			"orders": 40 * time.Second, "mails": 4 * time.Second, "invoices": 38 * time.Minute,
			"reports":                   3 * time.Hour,
			"wishlist_events.audit_log": 2 * time.Minute, "wishlist_events.mobile": 9 * time.Second,
		},
	}
	return b, map[string]float64{
		"orders": 25, "mails": 12, "invoices": 30, "reports": 60, "thumbnails": 4, "search-index": 2, "webhooks": 1,
		"wishlist_events.audit_log": 40, "wishlist_events.mobile": 40,
	}
}
