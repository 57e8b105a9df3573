package godwittest

import (
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// A retry that the consumer held ended with the next attempt, so later events do not change it. The order of handling
// is the order of the handled attempts, whatever the order of delivery.
func TestJournal(t *testing.T) {
	j := newJournal(time.Now)
	r := &receiver{channel: "orders", journal: j}
	j.gate.add(j.gate.receivers, r.channel, 1)
	receive := func(seq uint64, ids ...string) {
		var ds []driver.Delivery
		for i, id := range ids {
			ds = append(ds, driver.Delivery{ID: id, OrderKey: "ada", Handle: driver.Handle{Seq: seq + uint64(i)}})
		}
		if !j.gate.enter(t.Context(), "orders") {
			t.Fatal("enter returned false")
		}
		j.received(r, ds)
	}
	try := func(id string, n int, a godwit.Action) {
		d := &godwit.Delivery{ID: id, Channel: "orders", Attempt: n}
		j.started(d)
		j.ended(d, godwit.Verdict{Action: a, After: time.Second}, nil, 0)
	}
	settle := func(seq uint64, a driver.Action) {
		s := []driver.Settlement{{Handle: driver.Handle{Seq: seq}, Action: a}}
		j.verdicts(s)
		j.verdicts(s) // the service has not accepted it
		j.accepted([]driver.Handle{s[0].Handle})
	}
	receive(1, "a", "b")
	try("a", 1, godwit.ActionRetry)
	try("b", 1, godwit.ActionDone)
	settle(2, driver.Done)
	try("a", 2, godwit.ActionDone)
	settle(1, driver.Done)
	receive(3, "a") // the answer to its delete was lost
	settle(3, driver.Release)

	ms := j.messages("orders")
	var outcomes []string
	for _, a := range ms[0].Attempts {
		outcomes = append(outcomes, a.Outcome)
	}
	if want := []string{"retry after 1s", "handled"}; !slices.Equal(outcomes, want) {
		t.Errorf("attempts %q, want %q", outcomes, want)
	}
	if a, b := ms[0].handledAs(), ms[1].handledAs(); a != 3 || b != 2 {
		t.Errorf("handled as %d and %d, want 3 and 2", a, b)
	}
	if len(j.held) != 0 || j.handledOn("orders") != 2 {
		t.Errorf("%d held, %d handled", len(j.held), j.handledOn("orders"))
	}
}
