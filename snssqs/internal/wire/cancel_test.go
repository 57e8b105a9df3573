package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// An id is read as it was written, and nothing else is an id.
func TestCancelID(t *testing.T) {
	for name, m := range map[string]driver.Message{
		"waits": {Delay: time.Hour}, "has a time": {At: time.Now().Add(time.Hour)}, "is over": {At: time.Now()},
	} {
		e := wire.Encoder{
			To: driver.Channel{Queue: "orders"}, MaxBytes: 1000, Waits: true,
			Cancelling: &wire.Cancelling{Channel: "orders", Place: "4f1c09ab"},
		}
		m.Cancellable, m.Body = true, []byte("x")
		p, err := e.Prepare(t.Context(), &m)
		if err != nil {
			t.Fatal(err)
		}
		text := wire.CancelIDOf(p)
		id, err := wire.ParseCancelID(text)
		if err != nil || id.String() != text || id.Channel != "orders" || id.Place != "4f1c09ab" {
			t.Errorf("a message that %s: %q is %+v, %v", name, text, id, err)
		}
		if over := name == "is over"; over != id.Due.IsZero() || over == wire.Waits(p) {
			t.Errorf("a message that %s is due at %v, and waits: %v", name, id.Due, wire.Waits(p))
		}
		for _, wrong := range []string{
			"", text + "x", text[:len(text)-1], strings.ReplaceAll(text, ".", "/"), "." + text, text + ".x",
			strings.Replace(text, "orders.", "orders.0", 1), strings.Replace(text, "orders.", "orders.-", 1),
			strings.Replace(text, "orders.", "orders.+", 1), "orders.x.4f1c09ab." + text[len(text)-26:],
		} {
			if id, err := wire.ParseCancelID(wrong); driver.ClassOf(err) != driver.Permanent || err == nil {
				t.Errorf("%q is %+v, %v", wrong, id, err)
			}
		}
	}
}
