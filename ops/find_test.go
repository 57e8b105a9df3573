package ops_test

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// A channel is found by its name, with its order. The error for another name names similar channels, or where to look.
func TestFind(t *testing.T) {
	b := shop(t)
	if c, err := ops.Find(t.Context(), b, "events.audit@dlq"); err != nil || !c.Channel.Ordered {
		t.Errorf("%+v, %v", c, err)
	}
	for name, want := range map[string]string{
		"order": "perhaps orders", "Orders": "perhaps orders", "events.audti": "or events.audit",
		"bills": "there are 5 others",
	} {
		_, err := ops.Find(t.Context(), b, name)
		if driver.ClassOf(err) != driver.NotFound || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// A backend without a log cannot rewind, and says why.
func TestRewindOfAQueue(t *testing.T) {
	_, err := ops.Rewind(t.Context(), shop(t), "orders", nil)
	if err == nil || !strings.Contains(err.Error(), "Kafka") {
		t.Errorf("%v", err)
	}
}
