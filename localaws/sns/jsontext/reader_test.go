package jsontext_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

func TestErrorsAreWordedAsSNSDoes(t *testing.T) {
	const redacted = "\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: "
	for src, want := range map[string]string{
		"{invalidjson}": "Unexpected character ('i' (code 105)): was expecting double-quote to start field name" +
			redacted + "1, column: 2]",
		"invalid": "Unrecognized token 'invalid': was expecting (JSON String, Number, Array, Object or token " +
			"'null', 'true' or 'false')" + redacted + "1, column: 8]",
		"invalid json": "Unrecognized token 'invalid': was expecting (JSON String, Number, Array, Object or token " +
			"'null', 'true' or 'false')" + redacted + "1, column: 8]",
		"{\"a\" 1}": "Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value" +
			redacted + "1, column: 6]",
		"[1 2]": "Unexpected character ('2' (code 50)): was expecting comma to separate Array entries" + redacted +
			"1, column: 4]",
		"{\n\"é\":": "Unexpected end-of-input: expected close marker for Object (start marker at [Source: REDACTED " +
			"(`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: 1])" + redacted +
			"2, column: 5]",
		"\"a": "Unexpected end-of-input: was expecting closing quote for a string value" + redacted +
			"1, column: 3]",
	} {
		_, err := jsontext.Compact(src)
		if err == nil {
			t.Errorf("%q: no error", src)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%q: %s", src, diff)
		}
	}
}

func TestCompactKeepsMeaning(t *testing.T) {
	src := ` { "a\u00e9\n" : [ 1.50 , true , null , "\ud83d\ude00\/" , { } , [ ] ] , "b" : -2e3 } `
	got, err := jsontext.Compact(src)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"aé\n":[1.50,true,null,"😀/",{},[]],"b":-2e3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzReader compares with the standard library: both accept the same texts, and the output of Compact has the same
// meaning.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,{"b":null}]}`, `[1,]`, `{"a":1,}`, "\"\\u12\"", `01`, `-`, `1.`, `"\ud800"`,
		"\"\x01\"", `tru`, `{"a":tr"ue}`, `{}{}`, ` `, `1e5`, `[1e+]`, `"\ud800\ud800"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		compact, err := jsontext.Compact(src)
		if valid := json.Valid([]byte(src)); valid != (err == nil) {
			if e := new(jsontext.Error); errors.As(err, &e) && len(e.Reason) > 8 && e.Reason[:8] == "Document" {
				return
			}
			t.Fatalf("%q: valid is %v, error %v", src, valid, err)
		}
		if err != nil {
			return
		}
		var a, b any
		if json.Unmarshal([]byte(src), &a) != nil {
			return // numbers beyond float64
		}
		if err := json.Unmarshal([]byte(compact), &b); err != nil {
			t.Fatalf("%q became %q: %v", src, compact, err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%q became %q: %s", src, compact, diff)
		}
	})
}
