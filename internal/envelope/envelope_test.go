package envelope_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

func TestANewerVersionIsAnError(t *testing.T) {
	for _, text := range []string{
		`{"v":2}`, `{"v":0}`, `{"v":-1}`, `{}`, `null`, `[]`, `"x"`, `{"v":"1"}`, `{"v":1`,
		"",
	} {
		if e, err := envelope.Parse(text); err == nil {
			t.Errorf("%s was read as %+v", text, e)
		}
	}
	if _, err := envelope.Parse(`{"v":2}`); !strings.Contains(fmt.Sprint(err), "update the consumer") {
		t.Errorf("the error of a newer version is %v, want it to say what to do", err)
	}
}

func TestAddDeathKeepsUnknownFields(t *testing.T) {
	for _, text := range []string{
		fixture(t, "testdata/v1-later-fields.json"),
		`{"v":9,"h":7,"new":[1,2,{"deep":"yes"}]}`, // a later version, whose fields must be kept
	} {
		buried := envelope.AddDeath(text, envelope.Death{Error: "x", ID: "1"})
		got, want := fields(t, buried), fields(t, text)
		if got["d"] == nil {
			t.Errorf("%s has no death: %s", text, buried)
		}
		delete(got, "d")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s with a death (-want +got):\n%s", text, diff)
		}
	}
}

func TestAddDeathKeepsATextThatIsNotAnEnvelope(t *testing.T) {
	for _, text := range []string{"hello", "[1]", `{"v":1`, "7"} {
		e, err := envelope.Parse(envelope.AddDeath(text, envelope.Death{ID: "1"}))
		if err != nil || e.Headers["godwit"] != text || len(e.Deaths) != 1 {
			t.Errorf("%s with a death is %+v, %v; want the text in a header", text, e, err)
		}
	}
	if e, err := envelope.Parse(envelope.AddDeath("", envelope.Death{})); err != nil || e.Headers != nil {
		t.Errorf("an empty text with a death is %+v, %v; want no headers", e, err)
	}
}

func TestAddDeathKeepsTheNewestDeaths(t *testing.T) {
	text := ""
	for i := range 15 {
		text = envelope.AddDeath(text, envelope.Death{ID: fmt.Sprint(i)})
	}
	e, err := envelope.Parse(text)
	if err != nil || len(e.Deaths) != 10 || e.Deaths[0].ID != "5" || e.Deaths[9].ID != "14" {
		t.Errorf("after 15 deaths: %+v, %v; want those from 5 to 14", e.Deaths, err)
	}
}

func TestAnErrorIsCutBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		long := strings.Repeat("x", pad) + strings.Repeat("ä€😀", 500)
		e, err := envelope.Parse(envelope.AddDeath("", envelope.Death{Error: long}))
		if err != nil {
			t.Fatal(err)
		}
		got := e.Deaths[0].Error
		if len(got) > 1024 || len(got) < 1018 || !utf8.ValidString(got) {
			t.Errorf("cut to %d bytes, valid %v; want at most 1024", len(got), utf8.ValidString(got))
		}
		if before, cut := strings.CutSuffix(got, "…"); !cut || !strings.HasPrefix(long, before) {
			t.Errorf("cut to …%q", got[len(got)-20:])
		}
	}
	if e, _ := envelope.Parse(envelope.AddDeath("", envelope.Death{Error: strings.Repeat("x",
		1024)})); len(e.Deaths[0].Error) != 1024 {
		t.Errorf("a text of exactly the limit was cut to %d bytes", len(e.Deaths[0].Error))
	}
}

// An error's text may contain any bytes. The envelope has only characters that services accept, and decodes to the same
// text.
func TestAnyErrorTextIsAccepted(t *testing.T) {
	for given, want := range map[string]string{
		"nul \x00 bell \a esc \x1b": "nul \x00 bell \a esc \x1b",
		"\uFFFE and \uFFFF":         "\uFFFE and \uFFFF",
		"not UTF-8: \xff\xfe.":      "not UTF-8: \uFFFD.",
		`quotes " and \ and \uFFFE`: `quotes " and \ and \uFFFE`,
	} {
		d := envelope.Death{Error: given, Kind: given, Consumer: given, Channel: given, ID: given, OrderKey: given}
		text := envelope.AddDeath(`{"v":1}`, d)
		if !envelope.Text(text) {
			t.Errorf("with the error %q the envelope is %q, which SQS refuses", given, text)
		}
		e, err := envelope.Parse(text)
		if err != nil || e.Deaths[0].Error != want || e.Deaths[0].Consumer != want {
			t.Errorf("%q came back as %+v, %v", given, e.Deaths, err)
		}
	}
}

func TestNew(t *testing.T) {
	m := driver.Message{
		ContentType: "text/plain", Type: "t", Version: 3,
		Header: []driver.Header{{Name: "a", Value: "\uFFFF\x00"}},
	}
	text := envelope.New(&m).String()
	if !envelope.Text(text) {
		t.Errorf("%q is refused by SQS", text)
	}
	e, err := envelope.Parse(text)
	want := envelope.Envelope{
		Version: 1, ContentType: "text/plain", Type: "t", TypeVersion: 3,
		Headers: map[string]string{"a": "\uFFFF\x00"},
	}
	if diff := cmp.Diff(want, e); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// The text of an envelope without fields is a constant. It must be what encoding/json would write, and every field that
// is set must be written.
func TestTheConstantEnvelopeIsItsJSON(t *testing.T) {
	whole := envelope.Envelope{
		Headers: map[string]string{"a": "1"}, OrderKey: "k", ContentType: "c", Type: "t",
		TypeVersion: 2,
		Encoding:    envelope.Base64, Delay: 3, Expires: 4, First: 5, At: 6, Later: &envelope.Later{ID: "8"},
		Wrapped: true, Deaths: []envelope.Death{{ID: "7"}},
		Packed: []envelope.Packed{{Name: "a", Type: "Binary", Binary: []byte{0}}},
		Typed:  []envelope.Packed{{Name: "b", Type: "Number", Text: "1"}},
	}
	from := reflect.ValueOf(whole)
	for i := range from.NumField() {
		e := envelope.Envelope{Version: envelope.Version}
		reflect.ValueOf(&e).Elem().Field(i).Set(from.Field(i))
		name := from.Type().Field(i).Name
		if name == "Version" {
			e.Version = envelope.Version
		} else if from.Field(i).IsZero() {
			t.Fatalf("%s is not set: set it in this test", name)
		}
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.String(); got != string(want) {
			t.Errorf("with %s the envelope is written as %s, want %s", name, got, want)
		}
	}
}

// A message with nothing but a body costs one allocation: the copy of the body.
func TestABareMessageIsEncodedWithOneAllocation(t *testing.T) {
	body, m := []byte(strings.Repeat("x", 1000)), driver.Message{}
	if n := testing.AllocsPerRun(100, func() {
		text, _ := envelope.Encode(body)
		if envelope.New(&m).String() == text {
			t.Error("the envelope is equal to the body")
		}
	}); n > 1 {
		t.Errorf("%v allocations, want 1: the text of the body", n)
	}
}
