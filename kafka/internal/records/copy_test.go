package records

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Each action has one effect on a delivered message: the next stage, a copy to publish, or an error for its entry.
func TestTheEffectOfEachAction(t *testing.T) {
	tiered := func(r *Rules) { r.Retries, r.Moves = true, true }
	for _, c := range []struct {
		name          string
		o             func(r *Rules)
		action        driver.Action
		want          stage
		retry, reject int
		says          string
	}{
		{name: "done", action: driver.Done, want: finished},
		{name: "release", action: driver.Release, want: delivered},
		{
			name: "release beside a share group", o: func(r *Rules) { r.Releases = true }, action: driver.Release,
			want: delayed,
		},
		{name: "retry", o: tiered, action: driver.Retry, want: retrying, retry: 1},
		{name: "retry that the core holds", action: driver.Retry, want: delivered, says: "RetryBlock"},
		{name: "reject", action: driver.Reject, want: rejecting, reject: 1},
		{name: "unknown", action: 77, want: delivered, says: "77"},
	} {
		l, e := newTestLedger(t, c.o)
		m := l.at(t, e, delivered)
		retry, reject, errs := l.Settle([]driver.Settlement{{
			Handle: driver.Handle{Ref: m, Seq: m.Use},
			Action: c.action,
		}})
		got := m.stage
		if e.tracker.Unfinished() == 0 { // the message's memory is blank
			got = finished
		}
		if got != c.want || len(retry) != c.retry || len(reject) != c.reject {
			t.Errorf("%s: the message is %s, %d retries, %d rejects", c.name, got, len(retry), len(reject))
		}
		if err := errs[0]; (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.says)
		}
	}
}

// On a channel of dead letters there is nowhere to reject to.
func TestDeadLettersCannotBeRejected(t *testing.T) {
	l, e := newTestLedger(t, func(r *Rules) { r.Rejects = false })
	m := l.at(t, e, delivered)
	_, _, errs := l.Settle([]driver.Settlement{{Handle: driver.Handle{Ref: m, Seq: m.Use}, Action: driver.Reject}})
	if errs[0] == nil || driver.ClassOf(errs[0]) != driver.Permanent || m.stage != delivered {
		t.Errorf("the message is %s, error %v", m.stage, errs[0])
	}
}

// The dead letter of a record in a tier is as of its original: with its position, and without the tier's headers. The
// record itself does not change.
func TestTheOriginalOfARecord(t *testing.T) {
	r := wire.ForTier(&kgo.Record{
		Topic: "orders", Partition: 1, Offset: 7, Headers: []kgo.RecordHeader{{Key: "own"}},
	}, time.Time{}, 0, time.Time{})
	r.Topic, r.Offset = "orders.orders.retry.5s", 99
	got := original(&Message{Epoch: &Epoch{Stay: time.Second}, Record: r})
	if got.Topic != "orders" || got.Partition != 1 || got.Offset != 7 {
		t.Errorf("the original is offset %d of partition %d of %s", got.Offset, got.Partition, got.Topic)
	}
	if len(got.Headers) != 1 || got.Headers[0].Key != "own" {
		t.Errorf("the original has the headers %v", got.Headers)
	}
	if r.Offset != 99 || wire.Header(r, wire.HomeHeader) == "" {
		t.Errorf("the record in the tier has changed: %+v", r)
	}
	here := &kgo.Record{Topic: "orders", Offset: 5}
	wire.SetHeader(here, wire.HomeHeader, "other/0/1")
	if got := original(&Message{Epoch: &Epoch{}, Record: here}); got.Topic != "orders" || got.Offset != 5 {
		t.Errorf("outside of a tier the header %s counts: %+v", wire.HomeHeader, got)
	}
}
