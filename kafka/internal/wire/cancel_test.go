package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The id of a message names its record, and is read back only as a whole.
func TestCancelID(t *testing.T) {
	r := &kgo.Record{Key: []byte("k"), Value: []byte("v"), Partition: 3, Offset: 17, Timestamp: time.Unix(1000, 0)}
	if CancelIDOf(r) != "" {
		t.Error("a message that cannot be cancelled has an id")
	}
	MakeCancellable(r, Place("cluster", "orders.later"))
	over, ok := ParseCancelID(CancelIDOf(r))
	if !ok || over.Due != 0 || over.Place != Place("cluster", "orders.later") {
		t.Errorf("the id of a message that did not wait is %+v", over)
	}
	Wait(r, LaterID{1, 2}, time.Minute, time.Time{})
	text := CancelIDOf(r)
	id, ok := ParseCancelID(text)
	if want := (CancelID{3, 17, 1060, Place("cluster", "orders.later"), LaterID{1, 2}}); !ok || id != want {
		t.Errorf("%s is %+v, want %+v", text, id, want)
	}
	if Cancellable(Woken(r, "orders")) {
		t.Error("a message that was sent on can be cancelled")
	}
	for _, wrong := range []string{
		"", text + "x", text[1:], text[:len(text)-1], strings.Replace(text, ".17.", ".-17.", 1),
		strings.Replace(text, ".17.", ".017.", 1), strings.Replace(text, "k3", "k-3", 1), strings.ToUpper(text),
		strings.Replace(text, ".17", "", 1), strings.Replace(text, ".1060.", ".x.", 1),
	} {
		if id, ok := ParseCancelID(wrong); ok {
			t.Errorf("%q is the id %+v", wrong, id)
		}
	}
}

// Claims and cancels have keys of their own, each time another one.
func TestDecisionKeys(t *testing.T) {
	id := LaterID{9}
	for cancels, key := range map[bool]func(LaterID) []byte{false: Claim, true: Cancel} {
		one := key(id)
		if string(one) == string(key(id)) {
			t.Errorf("two keys are %s", one)
		}
		if got, is, ok := Decision(one); got != id || is != cancels || !ok {
			t.Errorf("%s is a decision about %v: %v, a cancel: %v", one, got, ok, is)
		}
	}
	for _, other := range []string{"", BeatKey, id.String(), "claim/", "cancel/x/y", "claims/" + id.String()} {
		if _, _, ok := Decision([]byte(other)); ok {
			t.Errorf("%q is a decision", other)
		}
	}
}
