package ops_test

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// A paused channel is listed as paused until it is resumed. A dry run, and a second pause, change nothing and say so.
func TestPause(t *testing.T) {
	b := shop(t)
	paused := func() bool {
		c, err := ops.Find(t.Context(), b, "orders")
		if err != nil {
			t.Fatal(err)
		}
		return c.Paused
	}
	for _, step := range []struct {
		pause, dry, changes, paused bool
	}{
		{true, true, true, false},
		{true, false, true, true},
		{true, false, false, true},
		{false, true, true, true},
		{false, false, true, false},
	} {
		do := ops.Resume
		if step.pause {
			do = ops.Pause
		}
		r, err := do(t.Context(), b, "orders", &ops.PauseOptions{Dry: step.dry})
		if err != nil || r.Changes != step.changes || r.Channel.Queue != "orders" || paused() != step.paused {
			t.Errorf("%+v: %+v, %v, paused %v", step, r, err, paused())
		}
	}
	_, err := ops.Pause(t.Context(), b, "order", nil)
	if err == nil || !strings.Contains(err.Error(), "perhaps orders") {
		t.Errorf("%v", err)
	}
	if _, err := ops.Pause(t.Context(), struct{ driver.Backend }{}, "orders", nil); err == nil || !strings.Contains(
		err.Error(), "Kafka") {
		t.Errorf("%v", err)
	}
}
