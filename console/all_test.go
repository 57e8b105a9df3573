package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console"
	"github.com/godwitmq/godwit/driver"
)

// told is a backend whose counts are told by the test.
type told struct {
	driver.Backend
	acts map[string]driver.Activity
	ages map[string]time.Duration
}

func (c *told) Operations() driver.Operations {
	do := driver.OperationsOf(c.Backend)
	do.Activity = func(_ context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
		all := make([]driver.Activity, len(cs))
		for i := range cs {
			a, ok := c.acts[cs[i].String()]
			if !ok {
				unknown := driver.Reading[int64]{Err: driver.ErrNotCounted}
				a = driver.Activity{
					Sent: unknown, Received: unknown, EmptyReceives: unknown, Deleted: unknown,
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
	d, err := c.Backend.(driver.Inspector).Inspect(ctx, ch)
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
		if n := strings.Count(page, "c-link c-blocked"); n != 1 {
			t.Errorf("%d links are blocked", n)
		}
		w.silent(w.get("/map?q=mails"), "events.audit")
		w.says(w.get("/map?q=nothing"), "No queue has these words")
	})
}

// What channels cost is between single requests and full batches; a retention about to expire is critical.
func TestCosts(t *testing.T) {
	wrap := func(b driver.Backend) driver.Backend {
		return &told{
			Backend: b, ages: map[string]time.Duration{"mails": 13 * 24 * time.Hour},
			acts: map[string]driver.Activity{"orders": {
				Sent: number(1_000_000), Received: number(1_000_000), Deleted: number(1_000_000),
				EmptyReceives: number(0),
			}},
		}
	}
	inWrapped(t, &console.Options{}, wrap, func(w *world) {
		w.send(mails, driver.Message{Body: []byte("x")})
		page := w.get("/costs")
		w.says(page, "$864.00", "$86.40", "3.0", "c-bars", "Messages are about to expire: 92 %", "13 d of 14 d")
		w.says(w.get("/"), "the oldest message waits for 13 d, and 15 min are tolerated")
	})
}
