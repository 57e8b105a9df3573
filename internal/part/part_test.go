package part

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for part, why := range map[string]string{
		"": "empty", "dlq": "orders@dlq", "a--b": "'--'", "a b": "' '", "ä": "'ä'", "a.b": "'.'", "\xff": "not allowed",
		"-a": "begin", "a_": "end", "_": "begin",
	} {
		if err := Check(part); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want an error that says %q", part, err, why)
		}
	}
	for _, part := range []string{"a", "Z9", "dlq2", "wishlist_events", "a-b_c", "0"} {
		if !Legal(part) {
			t.Errorf("%q is refused: %v", part, Check(part))
		}
	}
}
