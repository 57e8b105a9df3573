package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
)

// inHands counts the deliveries of each tenant that are being handled, and keeps the largest numbers.
type inHands struct {
	mu        sync.Mutex
	now, most map[string]int
	handled   map[string]int
	slowest   time.Duration // from send to start, of tenants other than the noisy one
	attempts  int           // the highest
}

func newInHands() *inHands {
	return &inHands{now: map[string]int{}, most: map[string]int{}, handled: map[string]int{}}
}

func (h *inHands) handle(work time.Duration) godwit.Handler {
	return func(_ context.Context, d *godwit.Delivery) error {
		h.mu.Lock()
		h.now[d.Tenant]++
		h.most[d.Tenant] = max(h.most[d.Tenant], h.now[d.Tenant])
		h.attempts = max(h.attempts, d.Attempt)
		if d.Tenant != "noisy" {
			h.slowest = max(h.slowest, time.Since(d.SentAt))
		}
		h.mu.Unlock()
		time.Sleep(work)
		h.mu.Lock()
		h.now[d.Tenant]--
		h.handled[d.Tenant]++
		h.mu.Unlock()
		return nil
	}
}

// A tenant that floods the channel gets its share of the handlers and no more, and the messages of other tenants pass
// its thousands. In the end all messages are handled at their first attempt.
func TestANoisyTenant(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const share = 3
		flood := fullrun.Pick(1000, 3000)
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 10, MaxPerTenant: share})
		p := w.producer("orders", nil)
		w.send(p, many(flood, "noisy")...)
		h := newInHands()
		r := w.run(c, h.handle(time.Second))
		for i := range 100 {
			time.Sleep(2 * time.Second)
			w.send(p, godwit.Message{OrderKey: fmt.Sprint("quiet ", i%5), Body: []byte("fresh")})
		}
		time.Sleep(2 * time.Hour)
		report := r.stop()
		if h.handled["noisy"] != flood || report.Handled != int64(flood+100) || report.Rejected+report.Retried != 0 {
			t.Errorf("%d messages of the noisy tenant were handled; %+v", h.handled["noisy"], report)
		}
		if h.most["noisy"] != share {
			t.Errorf("up to %d messages of the noisy tenant at the same time, want %d", h.most["noisy"], share)
		}
		if h.attempts != 1 {
			t.Errorf("attempt %d, want only first attempts", h.attempts)
		}
		if h.slowest > time.Second {
			t.Errorf("a quiet tenant's message waited %v behind the flood", h.slowest)
		}
		t.Logf("slowest of the quiet tenants %v; %d released; %d requests", h.slowest, report.Released, w.queueCalls())
	})
}

// tenantMix is a backlog of several tenants.
type tenantMix struct {
	name     string
	messages []godwit.Message
	rounds   int     // handlers, one after another, that the largest tenant needs at its share
	requests float64 // for each message, at most
}

func tenantMixes(share int) []tenantMix {
	mixed := func(floods, each int) (ms []godwit.Message) {
		for i := range each {
			for f := range floods {
				ms = append(ms, godwit.Message{OrderKey: fmt.Sprint("noisy ", f), Body: fmt.Append(nil, i)})
			}
		}
		return ms
	}
	quiet := many(800, "noisy")
	for i := range 200 {
		quiet = append(quiet, godwit.Message{OrderKey: fmt.Sprint("quiet ", i%20), Body: []byte("quiet")})
	}
	rounds := func(n int) int { return (n + share - 1) / share }
	return []tenantMix{
		{"one tenant", many(1000, "noisy"), rounds(1000), 0.5},
		{"a flood before quiet tenants", quiet, rounds(800), 0.5},
		{"two floods", mixed(2, 500), rounds(500), 0.5},
		{"three floods", mixed(3, 300), rounds(300), 0.5},
		{"more than the shelf holds", many(3000, "noisy"), rounds(3000), 0.55},
	}
}

// handleAll handles a backlog with ten workers, and returns how long that takes, and the requests for each message.
func (mix tenantMix) handleAll(w *world, o *godwit.ConsumerOptions, work, latency time.Duration) (
	took time.Duration, receives, requests float64,
) {
	c := w.consumer("orders", o)
	w.send(w.producer("orders", nil), mix.messages...)
	w.latency(latency)
	n := len(mix.messages)
	h := newInHands()
	var handled atomic.Int64
	begun, before, after := time.Now(), w.queueCalls(), 0
	r := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
		err := h.handle(work)(ctx, d)
		if handled.Add(1) == int64(n) {
			took, after = time.Since(begun), w.queueCalls()
		}
		return err
	})
	time.Sleep(5 * time.Minute)
	report := r.stop()
	if report.Handled != int64(n) || report.Rejected+report.Retried != 0 || h.attempts != 1 {
		w.Errorf("up to attempt %d; %+v", h.attempts, report)
	}
	return took, float64(report.Received) / float64(n), float64(after-before) / float64(n)
}

// The share of a tenant with many messages is always busy, and its waiting messages cost little: at most two receives
// and half a request for each message.
func TestAShareIsNeverIdleAndCostsLittle(t *testing.T) {
	t.Parallel()
	const workers, share, work = 10, 3, 10 * time.Millisecond
	latencies := []time.Duration{0, 20 * time.Millisecond}
	if fullrun.On() {
		latencies = append(latencies, 5*time.Millisecond)
	}
	for _, latency := range latencies {
		for _, mix := range tenantMixes(share) {
			if latency == 0 && len(mix.messages) > 1000 {
				// all messages are received before the first handler ends, when the duration of handlers is unknown
				continue
			}
			t.Run(fmt.Sprint(mix.name, ", ", latency), func(t *testing.T) {
				var free time.Duration // the time without a limit
				inWorld(t, func(w *world) {
					free, _, _ = mix.handleAll(w, &godwit.ConsumerOptions{Concurrency: workers}, work, latency)
				})
				inWorld(t, func(w *world) {
					o := &godwit.ConsumerOptions{Concurrency: workers, MaxPerTenant: share}
					took, receives, requests := mix.handleAll(w, o, work, latency)
					// While nine handlers are busy, the places allow one poll of ten at a time.
					best := max(time.Duration(mix.rounds)*work, free, time.Duration(len(mix.messages)/10)*latency)
					t.Logf("%v, at best %v; %.2f receives and %.2f requests a message", took, best, receives, requests)
					// The last items of a flood may be delivered again a second later, depending on the order of
					// goroutines.
					if most := best + best/20 + 10*latency + time.Second; took > most {
						t.Errorf("took %v, want at most %v", took, most)
					}
					if receives > 2 || requests > mix.requests {
						t.Errorf("%.2f receives and %.2f requests a message, want at most 2 and %v", receives, requests,
							mix.requests)
					}
				})
			})
		}
	}
}

// A pause and a stop also release the deliveries that wait for their tenant's share.
func TestDeliveriesThatWaitForAShareAreReleased(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 10, MaxPerTenant: 2})
		w.send(w.producer("orders", nil), many(4, "noisy")...)
		h := newInHands()
		r := w.run(c, h.handle(time.Minute))
		time.Sleep(time.Second)
		c.Pause()
		inHand := func() (n int) {
			time.Sleep(time.Second)
			for _, m := range w.messages("orders") {
				if m.State.String() != "visible" {
					n++
				}
			}
			return n
		}
		if n := inHand(); n != 2 {
			t.Errorf("the consumer holds %d in a pause, want the 2 that are handled", n)
		}
		c.Resume()
		if n := inHand(); n != 4 {
			t.Errorf("the consumer holds %d after the pause, want all", n)
		}
		time.Sleep(3 * time.Minute)
		report := r.stop()
		w.visible("orders", 0)
		if report.Handled != 4 || h.attempts != 1 {
			t.Errorf("%+v, up to attempt %d", report, h.attempts)
		}
	})
}

// On a log the deliveries above a share cannot be released: they wait in the consumer, with retries, and others pass
// them.
func TestTenantsOnALog(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	h := newInHands()
	work := h.handle(time.Second)
	onLog(t, l, &godwit.ConsumerOptions{MaxPerTenant: 2, Backoff: godwit.Constant(time.Second)},
		func(ctx context.Context, d *godwit.Delivery) error {
			if err := work(ctx, d); err != nil || d.Attempt > 1 || d.ID != "1" {
				return err
			}
			return errors.New("no")
		}, func(*godwit.Consumer) {
			var ds []driver.Delivery
			for i := range 9 {
				ds = append(ds, driver.Delivery{
					ID: fmt.Sprint(i), Tenant: "noisy", Source: l.source,
					Handle: driver.Handle{Seq: uint64(i)},
				})
			}
			ds = append(ds, driver.Delivery{ID: "9", Tenant: "quiet", Source: l.source, Handle: driver.Handle{Seq: 9}})
			l.feed <- ds
			rest(1500 * time.Millisecond)
			if got := strings.Join(l.answers(), ", "); got != "0 done, 9 done" && got != "9 done, 0 done" {
				t.Errorf("settled after the first second: %s", got)
			}
			rest(time.Minute)
			if n := len(l.answers()); n != 10 || h.most["noisy"] != 2 {
				t.Errorf("%d settled, up to %d of the noisy tenant at the same time", n, h.most["noisy"])
			}
		})
}

func TestTenantsAreForChannelsWithoutOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		_, err := godwit.NewConsumer(w.Context(), w.backend, "orders",
			&godwit.ConsumerOptions{Ordered: true, MaxPerTenant: 2})
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "MaxPerTenant") {
			t.Errorf("%v", err)
		}
	})
}
