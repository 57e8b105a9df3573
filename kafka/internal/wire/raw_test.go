package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Nothing is lost between a record and its raw form: nil is not empty, and headers have an order and may repeat.
func TestRaw(t *testing.T) {
	for _, r := range []*kgo.Record{
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("k"), Value: []byte("\x00\xff")},
		{Headers: []kgo.RecordHeader{
			{Key: "b", Value: []byte("1")}, {Key: "a"}, {Key: "b", Value: []byte{}}, {Key: "\xff", Value: []byte{0xff}},
		}},
	} {
		raw := Raw(r)
		got, err := Record(&raw)
		private := cmpopts.IgnoreUnexported(kgo.Record{}, kgo.RecordAttrs{})
		if diff := cmp.Diff(r, got, private); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, raw := range []driver.Raw{{Format: "sqs"}, {}, {Format: RawFormat, Trace: "Root=1"}} {
		if r, err := Record(&raw); err == nil {
			t.Errorf("%+v became %+v", raw, r)
		}
	}
}

// The original of a record in a tier has none of the tier's headers, and its own position.
func TestOriginal(t *testing.T) {
	r := &kgo.Record{Topic: "orders", Headers: []kgo.RecordHeader{{Key: "own"}}}
	if Original(r) != r {
		t.Error("a record that is no copy was changed")
	}
	tier := &kgo.Record{Topic: "tier", Headers: r.Headers}
	for _, name := range []string{DueHeader, AttemptHeader, SentHeader, FailedHeader, RevivedHeader} {
		SetHeader(tier, name, "5")
	}
	SetHeader(tier, HomeHeader, "orders/3/7")
	got := Original(tier)
	if len(got.Headers) != 1 || got.Topic != "orders" || got.Partition != 3 || got.Offset != 7 ||
		got.Timestamp.UnixMilli() != 5 || len(tier.Headers) != 7 {
		t.Errorf("the original is %+v", got)
	}
}
