package estate

import (
	"encoding/json"
	"testing"
)

// policies are texts of policies, with what they are after a statement is added.
var policies = map[string]string{
	`{"Version":"2012-10-17","Statement":[]}`: `{"Version":"2012-10-17","Statement":[{"Sid":"godwitPause"}]}`,
	"{ \"Id\" : \"<&\\u00e9>\",\n \"Statement\" : [ {\"Sid\":\"a\", \"N\": 1.0} ,\n{ \"Sid\":\"b\"} ] , \"Version\":\"2012-10-17\" }\n": "{ \"Id\" : \"<&\\u00e9>\",\n" +
		" \"Statement\" : [ {\"Sid\":\"a\", \"N\": 1.0} ,\n{ \"Sid\":\"b\"},{\"Sid\":\"godwitPause\"} ] , \"Version\":\"2012-10-17\" }\n",
	`{"Statement":{"Effect":"Allow"}}`: `{"Statement":[{"Effect":"Allow"},{"Sid":"godwitPause"}]}`,
}

// A statement is added to the text of a policy, and removed from it, without another change.
func TestPolicyText(t *testing.T) {
	for text, want := range policies {
		p, err := readPolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.with(statement{"Sid": PauseSid})
		if err != nil || got != want {
			t.Errorf("%s\nwith another statement is\n%s, %v, want\n%s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"Statement":[{"Sid":"godwitPause"},  {"Sid":"b"}]}`:               `{"Statement":[{"Sid":"b"}]}`,
		`{"Statement":[ {"Sid":"a"} , {"Sid":"godwitPause"} ,{"Sid":"b"}]}`: `{"Statement":[ {"Sid":"a"} ,{"Sid":"b"}]}`,
		`{"Statement":[{"Sid":"a"}, {"Sid":"godwitPause"} ]}`:               `{"Statement":[{"Sid":"a"} ]}`,
		`{"Statement":{"Sid":"godwitPause"}}`:                               "",
		`{"Statement":[{"Sid":"godwitPause"}]}`:                             "",
	} {
		p, err := readPolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.without(p.pause()); got != want {
			t.Errorf("%s\nwithout the statement is\n%s, want\n%s", text, got, want)
		}
	}
	for _, text := range []string{
		"", "1", "{}", "[]", `{"Statement":[{}]}}`, `{"Statement":[{}]} 1`, `{"Statement":1}`,
		`{"Statement":[1]}`, `{"Statement":[`, `{"Statement":[]`,
	} {
		if _, err := readPolicy(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// Adding a statement to any policy that can be read, and removing it, gives the policy again; a list is not removed.
func FuzzPolicyText(f *testing.F) {
	for text := range policies {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPolicy(text)
		if err != nil || p.pause() >= 0 {
			return
		}
		with, err := p.with(statement{"Sid": PauseSid})
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(text)) != json.Valid([]byte(with)) {
			t.Fatalf("%q became %q", text, with)
		}
		q, err := readPolicy(with)
		if err != nil || len(q.statements) != len(p.statements)+1 {
			t.Fatalf("%q became %q, %v", text, with, err)
		}
		if got := q.without(q.pause()); p.list && len(p.statements) > 0 && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
