package ops_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

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

// Messages are selected by their ids, and by the time of their death.
func TestSelectByIDAndDeath(t *testing.T) {
	now := time.Now()
	e := &ops.Entry{Delivery: driver.Delivery{
		ID: "a", SentAt: now, Origin: &driver.Origin{Death: driver.Death{Last: now.Add(-time.Hour)}},
	}}
	for _, c := range []struct {
		sel  ops.Selection
		want bool
	}{
		{ops.Selection{IDs: []string{"b", "a"}}, true},
		{ops.Selection{IDs: []string{"b"}}, false},
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
