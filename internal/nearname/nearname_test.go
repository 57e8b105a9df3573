package nearname_test

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/internal/nearname"
)

// A wrong name finds those that a typing error makes of it, and those that it begins; others are not suggested.
func TestNear(t *testing.T) {
	names := []string{
		"orders", "orders@dlq", "order_lines", "bills", "events.audit", "events.*", "wishlist_events.mobile",
	}
	for wrong, want := range map[string]string{
		"order":          "orders",
		"Orders":         "orders",
		"odrers":         "orders",
		"orders@dql":     "orders@dlq",
		"events.audti":   "events.audit",
		"wishlist_event": "wishlist_events.mobile",
		"payments":       "",
		"bi":             "",
		"":               "",
	} {
		if got := strings.Join(nearname.Near(wrong, names), " "); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
	if got := nearname.Near("ab", []string{"abcd", "abc", "ab"}); strings.Join(got, " ") != "ab abc abcd" {
		t.Errorf("the most similar is not first: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "abd", 1},
		{"abc", "bc", 1},
		{"ab", "ba", 1},
	} {
		if got := nearname.Distance(c.a, c.b); got != c.want || nearname.Distance(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
