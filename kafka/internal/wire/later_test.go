package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// A message that has waited is the message that was sent: its key, its body and its headers.
func TestWaits(t *testing.T) {
	accepted := time.UnixMilli(1_700_000_000_000)
	for name, r := range map[string]*kgo.Record{
		"with a key":    {Key: []byte("k"), Value: []byte("body")},
		"without a key": {Value: []byte("body")},
		"empty":         {Key: []byte{}, Value: []byte{}},
		"a tombstone":   {Key: []byte("k")},
	} {
		r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}
		waits := *r
		id := LaterID{1, 2, 3}
		Wait(&waits, id, 1500*time.Microsecond, time.Time{})
		if got, ok := ParseLaterID(waits.Key); !ok || got != id {
			t.Errorf("%s: the key %q is not the id", name, waits.Key)
		}
		if waits.Value == nil {
			t.Errorf("%s: the record that waits is a tombstone", name)
		}
		waits.Timestamp = accepted
		due := accepted.Add(2 * time.Millisecond)
		if got := WaitsUntil(&waits); !got.Equal(due) {
			t.Errorf("%s: due at %v, want %v", name, got, due)
		}
		woken := Woken(&waits, "orders")
		var d driver.Delivery
		Decode(woken, &d)
		if !d.Due.Equal(due) || !d.First.Equal(accepted) {
			t.Errorf("%s: due at %v, accepted at %v", name, d.Due, d.First)
		}
		if _, again := Due(woken); again {
			t.Errorf("%s: the message waits again", name)
		}
		if diff := cmp.Diff([]driver.Header{{Name: "h", Value: "v"}}, d.Header); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([2][]byte{r.Key, r.Value}, [2][]byte{woken.Key, woken.Value}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWaitsUntil(t *testing.T) {
	at := time.UnixMilli(1_900_000_000_000)
	r := &kgo.Record{Key: []byte("k"), Value: []byte("v")}
	Wait(r, LaterID{}, 0, at)
	if got := WaitsUntil(r); !got.Equal(at) {
		t.Errorf("due at %v, want %v", got, at)
	}
	odd := &kgo.Record{Timestamp: at, Headers: []kgo.RecordHeader{{Key: delayHeader, Value: []byte("soon")}}}
	if got := WaitsUntil(odd); !got.Equal(at) {
		t.Errorf("a record without a time is due at %v, want %v", got, at)
	}
	for _, key := range []string{"", BeatKey, "0123", "zz23456789abcdef0123456789abcdef"} {
		if _, ok := ParseLaterID([]byte(key)); ok {
			t.Errorf("%q is an id", key)
		}
	}
}
