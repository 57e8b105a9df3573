package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The position of an original is read as it was written. Any other text is no position.
func TestThePositionOfAnOriginal(t *testing.T) {
	r := &kgo.Record{Topic: "tier", Partition: 1, Offset: 99}
	if h := HomeOrHere(r); h.String() != "tier/1/99" {
		t.Errorf("a record that is no copy is at %s", h)
	}
	want := Home{Partition{"orders", 3}, 7}
	SetHeader(r, HomeHeader, want.String())
	if got, ok := HomeOf(r); !ok || got != want || HomeOrHere(r) != want {
		t.Errorf("the position is %s, %v, want %s", got, ok, want)
	}
	for _, text := range []string{
		"", "orders", "orders/3", "orders/x/7", "orders/3/y", "orders/3/7/1", "a/9999999999/7",
	} {
		SetHeader(r, HomeHeader, text)
		if h, ok := HomeOf(r); ok {
			t.Errorf("%q is read as %s", text, h)
		}
	}
}

// The number of starts is zero unless the header is a number that is not negative.
func TestStarts(t *testing.T) {
	r := &kgo.Record{}
	for text, want := range map[string]int32{"": 0, "4": 4, "-1": 0, "x": 0, "99999999999": 0} {
		SetHeader(r, AttemptHeader, text)
		if got := Starts(r); got != want {
			t.Errorf("%q is %d starts, want %d", text, got, want)
		}
	}
}
