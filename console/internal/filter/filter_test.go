package filter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// Each term becomes its condition.
func TestParse(t *testing.T) {
	f, err := Parse(` kind:timeout,panic group:ab12 error:"no \"stock\"" header:tenant=acme key:globex older:1h newer:2d attempts:3 `+
		`id:x,y from:2026-11-26T13:00:00Z to:2026-11-27 body:kite`, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := ops.Selection{
		Kinds: []string{"timeout", "panic"}, Group: "ab12", Error: `no "stock"`,
		Headers: []driver.Header{{Name: "tenant", Value: "acme"}}, Keys: []string{"globex"},
		OlderThan: time.Hour, NewerThan: 48 * time.Hour, MinAttempts: 3, IDs: []string{"x", "y"},
		DiedFrom: time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC), DiedTo: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, f.Selection, cmpopts.IgnoreFields(ops.Selection{}, "Body")); diff != "" {
		t.Error(diff)
	}
	if !f.Bodies || f.All || len(f.Headers) != 1 {
		t.Errorf("%+v", f)
	}
	for body, want := range map[string]bool{"a kite": true, "a ball": false} {
		if got, err := f.Selection.Body([]byte(body)); got != want || err != nil {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

// All is a term of its own, and an expression is compiled by who runs the console.
func TestParseAllAndExpressions(t *testing.T) {
	f, err := Parse("all", nil)
	if err != nil || !f.All || !f.Selection.IsZero() {
		t.Errorf("%+v, %v", f, err)
	}
	jq := func(text string) (func([]byte) (bool, error), error) {
		if text == "(" {
			return nil, errors.New("unexpected end")
		}
		return func(body []byte) (bool, error) { return string(body) == text, nil }, nil
	}
	f, err = Parse(`jq:".a > 1" body:a`, jq)
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := f.Selection.Body([]byte(".a > 1")); !ok {
		t.Error("the expression does not select")
	}
	if ok, _ := f.Selection.Body([]byte("a")); ok {
		t.Error("one of the terms is enough")
	}
	if _, err := Parse("jq:(", jq); err == nil || !strings.Contains(err.Error(), "column 4: unexpected end") {
		t.Error(err)
	}
}

// What does not parse is an error with a column.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "column 1: it is empty",
		"  ":                            "column 1: it is empty",
		"ß":                             "column 1: a term is",
		"kind:a kite":                   "column 8: a term is",
		"kind:":                         "column 6: kind: has no value",
		"colour:red":                    "column 1: there is no term colour",
		"jq:.a":                         "column 1: there is no term jq",
		`error:"x`:                      "column 7: the quotation has no end",
		`error:"x"y`:                    "column 10: a space must follow",
		"older:soon":                    "column 7: a duration is",
		"older:-1h":                     "column 7: a duration is",
		"kind:ß older:2h newer:1h":      "column 1: no message is older",
		"from:2026-01-02 to:2026-01-02": "column 1: from: is not before to:",
		"from:noon":                     "column 6: a time is",
		"attempts:0":                    "column 10: the number",
		"header:tenant":                 "column 8: a header is name=value",
		"group:a group:b":               "column 15: the term is there twice",
		"all kind:a":                    "column 1: all stands alone",
		"kind:a all":                    "column 8: all stands alone",
		"\xff":                          "column 1: it is no UTF-8",
		strings.Repeat("x", longest+1):  "longer than 4096 bytes",
		"ßß:a":                          "column 1: a term is",
		`body:"ßß" colour:x`:            "column 11: there is no term colour",
	} {
		_, err := Parse(text, nil)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
			continue
		}
		if lines := strings.Split(e.Pointer(), "\n"); len(lines) != 2 || strings.Index(lines[1], "^")+1 != e.Column {
			t.Errorf("%q: the pointer is %q", text, e.Pointer())
		}
	}
}

// What is quoted is read again as it was.
func FuzzQuote(f *testing.F) {
	f.Add("no stock")
	f.Add(`"\`)
	f.Fuzz(func(t *testing.T, value string) {
		parsed, err := Parse("error:"+Quote(value), nil)
		if err == nil && parsed.Selection.Error != value && strings.ToValidUTF8(value, "") == value {
			t.Errorf("%q became %q", value, parsed.Selection.Error)
		}
	})
}
