package envelope_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/godwitmq/godwit/internal/envelope"
)

func seeds(f *testing.F) []string {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("fixtures: %d, %v", len(files), err)
	}
	texts := []string{
		"", "null", "{}", `{"v":2}`, `{"v":1,"h":null}`, `{"v":1,"d":[7]}`, `{"v":1,"d":{}}`,
		`{"\uFFFE":1}`, `{"v":1,"h":{"a":1}}`, "\x00", "[]",
	}
	for _, file := range files {
		texts = append(texts, fixture(f, file))
	}
	return texts
}

// An envelope that Parse accepts is the same after it was written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := envelope.Parse(text)
		if err != nil {
			return
		}
		out := e.String()
		again, err := envelope.Parse(out)
		if err != nil || again.String() != out {
			t.Errorf("%q was written as %q and read as %q, %v", text, out, again.String(), err)
		}
		if !envelope.Text(out) {
			t.Errorf("%q was written as %q, which SQS refuses", text, out)
		}
	})
}

// For any text, the result of AddDeath is accepted by SQS, has the death, and keeps all other fields.
func FuzzAddDeath(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "no such user")
		f.Add(s, "\x00\uFFFE\xff")
	}
	f.Fuzz(func(t *testing.T, text, why string) {
		out := envelope.AddDeath(text, envelope.Death{Error: why, ID: "7"})
		if !envelope.Text(out) {
			t.Fatalf("%q became %q, which SQS refuses", text, out)
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &after); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		var deaths []json.RawMessage
		if err := json.Unmarshal(after["d"], &deaths); err != nil || len(deaths) == 0 {
			t.Fatalf("%q became %q without a death: %v", text, out, err)
		}
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		for name := range before {
			if _, kept := after[name]; !kept {
				t.Errorf("%q became %q, without %q", text, out, name)
			}
		}
	})
}

// Every body is encoded as a text that SQS accepts, and decodes to the same bytes.
func FuzzEncode(f *testing.F) {
	for _, b := range []string{"", "-", "plain", "\x00", "\xff\xfe", "\uFFFE", "ä\t\r\n", "\x7f", "\xed\xa0\x80"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text, e := envelope.Encode(body)
		if text == "" || !envelope.Text(text) {
			t.Errorf("%q is sent as %q, which SQS refuses", body, text)
		}
		got, err := envelope.Decode(text, e)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%q is sent as %q, %s, and decodes to %q, %v", body, text, e, got, err)
		}
	})
}

// For any text, Decode returns either a body or an error.
func FuzzDecode(f *testing.F) {
	f.Add("", "base64")
	f.Add("YQ==", "base64")
	f.Add("YQ", "base64")
	f.Add("x", "gzip")
	f.Fuzz(func(t *testing.T, text, encoding string) {
		body, err := envelope.Decode(text, envelope.Encoding(encoding))
		if err != nil && body != nil {
			t.Errorf("Decode returned both %q and %v", body, err)
		}
	})
}
