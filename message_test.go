package godwit_test

import (
	"slices"
	"testing"

	"github.com/godwitmq/godwit"
)

// Headers of one name exist only in records of Kafka: Value is the last of them, and Values are all.
func TestHeadersOfOneName(t *testing.T) {
	h := godwit.Headers{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}, {Name: "a", Value: "3"}}
	if got := h.Value("a"); got != "3" {
		t.Errorf("Value is %q, want 3", got)
	}
	if got := h.Values("a"); !slices.Equal(got, []string{"1", "3"}) {
		t.Errorf("Values are %q, want 1 and 3", got)
	}
	if got := h.Values("c"); got != nil {
		t.Errorf("Values of no header are %q", got)
	}
}
