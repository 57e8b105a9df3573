package ops_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// waiting is what waits in a channel.
func waiting(t *testing.T, b driver.Backend, queue string) int64 {
	t.Helper()
	d, err := driver.OperationsOf(b).Inspect(t.Context(), driver.Channel{Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	return d.Waiting
}

// A dry run counts the messages, and a purge deletes them.
func TestPurge(t *testing.T) {
	b := shop(t)
	for _, dry := range []bool{true, false} {
		r, err := ops.Purge(t.Context(), b, "orders", &ops.PurgeOptions{Dry: dry})
		if err != nil || r.Messages != 3 || r.Channel.Queue != "orders" {
			t.Errorf("dry %v: %+v, %v", dry, r, err)
		}
	}
	if n := waiting(t, b, "orders"); n != 0 {
		t.Errorf("%d messages wait", n)
	}
	_, err := ops.Purge(t.Context(), b, "order", nil)
	if err == nil || !strings.Contains(err.Error(), "perhaps orders") {
		t.Errorf("%v", err)
	}
}

// sharing is a backend whose messages belong to other consumers, too.
type sharing struct{ *memdriver.Backend }

func (s sharing) Operations() driver.Operations {
	do := s.Backend.Operations()
	do.Purge = s.Purge
	return do
}

func (s sharing) Purge(ctx context.Context, c driver.Channel, dry bool) (driver.Purged, error) {
	p, err := s.Backend.Purge(ctx, c, dry)
	p.Others = []string{"reports"}
	return p, err
}

// Messages of other consumers are deleted only if that is asked for.
func TestPurgeOfOthers(t *testing.T) {
	b := sharing{shop(t)}
	r, err := ops.Purge(t.Context(), b, "orders", nil)
	if err == nil || !strings.Contains(err.Error(), "reports") || r.Messages != 3 || waiting(t, b, "orders") != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = ops.Purge(t.Context(), b, "orders", &ops.PurgeOptions{Shared: true}); err != nil || r.Messages != 3 ||
		waiting(t, b, "orders") != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Discard deletes what is selected, and nothing else; a dry run deletes nothing, and tells the same numbers.
func TestDiscard(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 30 {
			m.put(orders, letter("", fmt.Sprintf("%02d", i)))
			m.reject(orders, driver.Death{Error: "no stock", Kind: []string{"exhausted", "timeout"}[i%2]})
		}
		o := &ops.DiscardOptions{Select: ops.Selection{Kinds: []string{"timeout"}}, Dry: true}
		for _, o.Dry = range []bool{true, false} {
			progress := int64(0)
			o.Progress = func(p *ops.DiscardResult) { progress = p.Looked }
			r, err := ops.Discard(m.Context(), m.Backend, "orders@dlq", o)
			if err != nil || r.Discarded != 15 || r.Looked != 30 || progress != 30 {
				t.Fatalf("dry %v: %+v, %v, progress %d", o.Dry, r, err, progress)
			}
		}
		for _, d := range m.take(dead(orders)) {
			if d.Origin.Death.Kind != "exhausted" {
				t.Errorf("%s is still there", d.Body)
			}
		}
	})
}

// Discard deletes at most as many as wanted, and an empty selection is refused.
func TestDiscardBounds(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 10 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		m.reject(orders, refused)
		r, err := ops.Discard(m.Context(), m.Backend, "orders@dlq", &ops.DiscardOptions{
			Select: ops.Selection{Kinds: []string{refused.Kind}}, Most: 3,
		})
		if err != nil || r.Discarded != 3 || len(m.take(dead(orders))) != 7 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := ops.Discard(m.Context(), m.Backend, "orders@dlq", nil); err == nil {
			t.Error("an empty selection is allowed")
		}
		if _, err := ops.Discard(m.Context(), m.Backend, "wishes.*", &ops.DiscardOptions{
			Select: ops.Selection{Error: "x"},
		}); err == nil {
			t.Error("an exchange is allowed")
		}
	})
}

// Messages are selected by their ids, by their types, and by the time of their death.
func TestSelectByIDAndDeath(t *testing.T) {
	now := time.Now()
	e := &ops.Entry{Delivery: driver.Delivery{
		ID: "a", Type: "refund", SentAt: now, Origin: &driver.Origin{Death: driver.Death{Last: now.Add(-time.Hour)}},
	}}
	for _, c := range []struct {
		sel  ops.Selection
		want bool
	}{
		{ops.Selection{IDs: []string{"b", "a"}}, true},
		{ops.Selection{IDs: []string{"b"}}, false},
		{ops.Selection{Types: []string{"sale", "refund"}}, true},
		{ops.Selection{Types: []string{"sale"}}, false},
		{ops.Selection{DiedFrom: now.Add(-time.Hour)}, true},
		{ops.Selection{DiedFrom: now.Add(-time.Minute)}, false},
		{ops.Selection{DiedTo: now.Add(-time.Hour)}, false},
		{ops.Selection{DiedFrom: now.Add(-2 * time.Hour), DiedTo: now.Add(-time.Minute)}, true},
	} {
		if got, err := c.sel.Selects(t.Context(), e, now); got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c.sel, got, err)
		}
		if c.sel.IsZero() {
			t.Errorf("%+v is empty", c.sel)
		}
	}
	_, err := ops.Requeue(t.Context(), newMorgue(t).Backend, "orders@dlq", &ops.RequeueOptions{
		Select: ops.Selection{DiedFrom: now, DiedTo: now},
	})
	if err == nil {
		t.Error("a time that is empty is allowed")
	}
}
