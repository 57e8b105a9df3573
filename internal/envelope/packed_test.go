package envelope_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/internal/envelope"
)

func TestPackedAttributesComeBack(t *testing.T) {
	first := []envelope.Packed{{Name: "n", Type: "Number.int", Text: "7"}}
	more := []envelope.Packed{
		{Name: "b", Type: "Binary.png", Binary: []byte{0, 0xff}}, {Name: "s", Type: "String", Text: "\uFFFE"},
	}
	const text = `{"v":1,"h":{"a":"1"},"x":true}`
	whole := envelope.Pack(envelope.Pack(text, first), more)
	if !envelope.Text(whole) {
		t.Errorf("%q is refused by SQS", whole)
	}
	e, err := envelope.Parse(whole)
	want := append(first, more...)
	if diff := cmp.Diff(want, e.Packed); diff != "" || err != nil {
		t.Errorf("%v; parsed (-want +got):\n%s", err, diff)
	}
	rest, got := envelope.Unpack(whole)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(fields(t, text), fields(t, rest)); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

// What has nothing to change is not encoded again: the text stays, byte for byte.
func TestAnEnvelopeThatNeedsNoChangeStays(t *testing.T) {
	for _, text := range []string{`{ "v":1, "zz":"<é>" }`, `{"v":1,"a":7}`, ``, `{"v":1,"d":[]}`} {
		if got, out := envelope.Unpack(text); got != text || out != nil {
			t.Errorf("Unpack(%s) = %s, %v", text, got, out)
		}
		if got := envelope.WithoutDelay(text); got != text {
			t.Errorf("WithoutDelay(%s) = %s", text, got)
		}
		if got := envelope.WithEncoding(text, envelope.Plain); got != text {
			t.Errorf("WithEncoding(%s, Plain) = %s", text, got)
		}
		if got := envelope.Pack(text, nil); got != text {
			t.Errorf("Pack(%s, nil) = %s", text, got)
		}
	}
}

func TestChangesOfAnEnvelope(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{envelope.WithFirst(`{"v":1,"x":2}`, time.UnixMilli(7)), `{"fa":7,"v":1,"x":2}`},
		{envelope.WithFirst(`{"v":1,"fa":5}`, time.UnixMilli(7)), `{"v":1,"fa":5}`},
		{envelope.WithFirst(`{"v":1}`, time.Time{}), `{"v":1}`},
		{envelope.WithoutFirst(`{"v":1,"fa":5,"x":2}`), `{"v":1,"x":2}`},
		{envelope.WithoutFirst(`{"v":1}`), `{"v":1}`},
		{envelope.WithoutDelay(`{"v":1,"dl":5,"x":2}`), `{"v":1,"x":2}`},
		{envelope.WithEncoding("", envelope.Base64), `{"e":"base64","v":1}`},
		{envelope.WithEncoding(`{"v":1,"e":"empty"}`, envelope.Base64), `{"e":"base64","v":1}`},
		{envelope.WithEncoding(`{"v":1,"e":"empty"}`, envelope.Plain), `{"v":1}`},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for text, want := range map[string]bool{
		`{"v":1,"d":[{}],"fa":1}`: true,
		`{"v":1}`:                 true, `{"v":1,"h":{}}`: false, `{"v":1,"w":true}`: false, `hello`: false,
	} {
		if envelope.OnlyHistory(text) != want {
			t.Errorf("OnlyHistory(%s) is %v", text, !want)
		}
	}
	for text, want := range map[string]bool{`{"v":9}`: true, `{}`: false, `[]`: false, ``: false, `hello`: false} {
		if envelope.Is(text) != want {
			t.Errorf("Is(%s) is %v", text, !want)
		}
	}
}
