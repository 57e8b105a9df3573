package worker

import (
	"strings"
	"testing"
)

// What is no answer to the open request says why.
func TestReadAnswer(t *testing.T) {
	for line, want := range map[string]string{
		`{"request":7,"action":"done"}`:              "",
		`{"request":7,"action":"retry","after":1.5}`: "",
		`{"request":7,"action":"done","more":true}`:  "", // fields may be added
		`{"action":"done"}`:                          "no request",
		`{"request":8,"action":"done"}`:              "answers request 8, and 7 is open",
		`{"request":7}`:                              `action is ""`,
		`{"request":7,"action":"drop"}`:              `action is "drop"`,
		`{"request":7,"action":"retry","after":-1}`:  "after is -1",
		`{"request":7,"action":"retry","after":1e9}`: "after is 1e+09",
		`done`: "no JSON object",
		`[]`:   "no JSON object",
	} {
		_, err := readAnswer([]byte(line), 7)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(`{"request":7,"action":"retry","after":1e300}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := readAnswer(line, 7)
		if err == nil && (*a.Request != 7 || a.After < 0 || a.After > longestAfter.Seconds()) {
			t.Errorf("%s: %+v", line, a)
		}
	})
}
