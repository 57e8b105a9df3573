package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `=== RUN   TestA
--- FAIL: TestA (0.10s)
    --- PASS: TestA/one (0.00s)
    --- FAIL: TestA/two (0.00s)
    --- FAIL: TestA/three (0.00s)
--- SKIP: TestB (0.00s)
FAIL
`

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, list string
		want       []string
	}{
		{"all listed", "TestA/two\tmoto\tsorts them\nTestA/three\tmoto\tknows no third\n", nil},
		{"at times", "TestA/two\tmoto\tx\nTestA/three\tmoto\ty\nTestA/one\tmoto, at times\tsmall\n", nil},
		{"one more fails", "TestA/two\tmoto\tsorts them\n", []string{"fails and is not listed: TestA/three"}},
		{
			"one was mended", "# moto 1\n\nTestA/two\tmoto\tx\nTestA/three\tmoto\ty\nTestA/one\tmoto\tsmall\n",
			[]string{"is listed and does not fail: TestA/one"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			list, log := filepath.Join(dir, "list"), filepath.Join(dir, "log")
			for file, text := range map[string]string{list: c.list, log: output} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, _, err := judge(list, log)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A run that panicked, or a list without a reason, is an error.
func TestWhatCannotBeJudged(t *testing.T) {
	for list, log := range map[string]string{
		"TestA/two\tmoto\tx\n": "panic: no\n\nFAIL\n",
		"TestA/two\tmoto\t\n":  output, "": "=== RUN TestA\n",
	} {
		dir := t.TempDir()
		l, o := filepath.Join(dir, "list"), filepath.Join(dir, "log")
		if err := os.WriteFile(l, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, summary, err := judge(l, o); err == nil {
			t.Errorf("%q and %q: no error, but %s", list, log, summary)
		}
	}
}
