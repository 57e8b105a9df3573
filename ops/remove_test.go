package ops_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// A channel with messages is removed only if that is asked for, and nothing else with it.
func TestRemove(t *testing.T) {
	b := shop(t)
	for _, step := range []struct {
		channel string
		o       *ops.RemoveOptions
		fails   string
		left    string
	}{
		{"orders", nil, "there are 3 messages", "events.* events.audit events.audit@dlq orders orders@dlq"},
		{"orders", &ops.RemoveOptions{Dry: true}, "", "events.* events.audit events.audit@dlq orders orders@dlq"},
		{"orders@dlq", nil, "remove that first", "events.* events.audit events.audit@dlq orders orders@dlq"},
		{"orders", &ops.RemoveOptions{Messages: true}, "", "events.* events.audit events.audit@dlq orders@dlq"},
		{"events.*", nil, "remove them first", "events.* events.audit events.audit@dlq orders@dlq"},
		{"events.audit", nil, "", "events.* events.audit@dlq orders@dlq"},
		{"events.audi", nil, "does not exist", "events.* events.audit@dlq orders@dlq"},
		{"events.*", nil, "", "events.audit@dlq orders@dlq"},
		{"orders@dlq", nil, "", "events.audit@dlq"},
	} {
		r, err := ops.Remove(t.Context(), b, step.channel, step.o)
		if step.fails == "" && (err != nil || len(r.Resources) != 1) ||
			step.fails != "" && (err == nil || !strings.Contains(err.Error(), step.fails)) {
			t.Errorf("%s: %+v, %v, want %q", step.channel, r, err, step.fails)
		}
		all, err := ops.List(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, l := range all {
			left = append(left, l.Channel.String())
		}
		if diff := cmp.Diff(step.left, strings.Join(left, " ")); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.channel, diff)
		}
	}
}

// Senders and receivers of a removed channel say that it is gone.
func TestRemoveUnderASender(t *testing.T) {
	b := shop(t)
	ch := driver.Channel{Queue: "orders"}
	s, err := b.Sender(t.Context(), ch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ops.Remove(t.Context(), b, "orders", &ops.RemoveOptions{Messages: true}); err != nil {
		t.Fatal(err)
	}
	p, err := s.Prepare(t.Context(), &driver.Message{})
	if err == nil {
		err = s.Send(t.Context(), []driver.Prepared{p})
	}
	if driver.ClassOf(err) != driver.NotFound {
		t.Errorf("%v", err)
	}
}
