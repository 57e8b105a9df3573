package ops_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/ops"
)

// A journal of a run that ended in the middle says what was open, also if its last line is cut off.
func TestJournalOfAnInterruptedRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	text := `{"from":"a@dlq","to":"a","at":"2026-11-23T00:00:00Z"}
{"sending":["1","2","3","4"]}
{"sent":["1","2"],"unsent":["4"]}
{"deleted":["1"]}
`
	for _, torn := range []string{"", `{"del`, `{"deleted":["2","3"]}`} {
		if err := os.WriteFile(path, []byte(text+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := ops.OpenJournal(path, "a@dlq", "a")
		if err != nil {
			t.Fatal(err)
		}
		open := j.Open()
		slices.Sort(open)
		if !slices.Equal(open, []string{"2", "3"}) {
			t.Errorf("after %q: %q are open", torn, open)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("after %q: %q, %v", torn, got, err)
		}
	}
	for _, c := range []struct{ from, to, text, want string }{
		{"b@dlq", "b", text, `from "a@dlq" to "a", and this one`},
		{"a@dlq", "a", "shopping list\n", "line 1 cannot be read"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.OpenJournal(path, c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A message that an interrupted run had sent is deleted, and not sent again. One that it was sending is sent, and named
// as perhaps doubled.
func TestRequeueContinuesAJournal(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(orders, letter("", "1"), letter("", "2"), letter("", "3"))
		m.reject(orders, refused)
		path := filepath.Join(m.TempDir(), "journal")
		text := `{"from":"orders@dlq","to":"orders","at":"2026-11-23T00:00:00Z"}
{"sending":["1","2"]}
{"sent":["1"]}
`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Journal: path})
		if r.Moved != 2 || !slices.Equal(r.Doubled, []string{"2"}) {
			t.Errorf("%+v", r)
		}
		m.want(orders, "2", "3")
		m.want(dead(orders))
		got, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(got), `"doubled":["2"]`) {
			t.Errorf("the journal: %s, %v", got, err)
		}
	})
}

// A file that is no journal of these channels is an error, and stays as it is, also if it is one line without an end.
// The first line of a journal that a crash has cut off is written again.
func TestOnlyJournalsAreChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, fine := range map[string]bool{
		"":                                    true,
		`{"fr`:                                true,
		`{"from":"a@dlq","to":"a","at":`:      true,
		"my only copy":                        false,
		"my only copy\n":                      false,
		"{}\n":                                false,
		`{"from":"b@dlq","to":"b"`:            false,
		"{\"from\":\"b@dlq\",\"to\":\"b\"}\n": false,
		strings.Repeat("x", 17<<20):           false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := ops.OpenJournal(path, "a@dlq", "a")
		if (err == nil) != fine {
			t.Errorf("%.40q: %v", text, err)
		}
		if text == "{}\n" && !strings.Contains(err.Error(), "it is not the journal of a requeue") {
			t.Errorf("%s: %v", text, err)
		}
		if err == nil {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%.40q was changed: %.40q, %v", text, got, err)
		}
	}
	for _, special := range []string{os.DevNull, t.TempDir()} {
		if _, err := ops.OpenJournal(special, "a@dlq", "a"); err == nil {
			t.Errorf("%s is accepted as a journal", special)
		}
	}
}
