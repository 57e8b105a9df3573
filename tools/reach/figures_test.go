package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ceilings = `
# A comment.
step worker  engine.(*runner).work  engine .  functions=100 chain=10 rings=0
type *       methods=25 files=4
type a.Large methods=40 files=9
folder *     files=30
`

func parsed(t *testing.T) []*ceiling {
	t.Helper()
	all, err := parse(ceilings)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestParse(t *testing.T) {
	all := parsed(t)
	if one := all[0]; len(all) != 4 || one.from != "engine.(*runner).work" || strings.Join(one.in, " ") != "engine ." ||
		one.most["chain"] != 10 {
		t.Errorf("%+v", one)
	}
	for _, wrong := range []string{"type a", "type a methods=x", "type a size=3"} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

// A figure above its ceiling fails, one far below is named, and things without a line have the rule.
func TestJudge(t *testing.T) {
	above, below := judge(parsed(t), []subject{
		{"step", "worker", map[string]int{"functions": 101, "chain": 9}},
		{"type", "a.Large", map[string]int{"methods": 20, "files": 9}},
		{"type", "a.Small", map[string]int{"methods": 26, "files": 1}},
		{"folder", "a", map[string]int{"files": 30}},
		{"interfaces", "a", map[string]int{"count": 99}},
	})
	want := "step worker has 101 functions, and its ceiling is 100\ntype a.Small has 26 methods, and its ceiling is 25"
	if got := strings.Join(above, "\n"); got != want {
		t.Errorf("above: %s", got)
	}
	if got := strings.Join(below, "\n"); got != "type a.Large has 20 methods, far below its ceiling of 40" {
		t.Errorf("below: %s", got)
	}
}

// Ceilings far above their figures are lowered, and none is raised.
func TestLower(t *testing.T) {
	got := lower(ceilings, []subject{
		{"step", "worker", map[string]int{"functions": 89, "chain": 12, "rings": 0}},
		{"type", "a.Large", map[string]int{"methods": 36, "files": 8}},
	})
	for _, want := range []string{
		"functions=89 chain=10 rings=0\n", "type a.Large methods=40 files=8\n", "type *       methods=25 files=4\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// A page has the table of the ceilings, or the check fails and says what to run.
func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+pageBegins+"old\n"+pageEnds+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := parsed(t)
	if wrong := showIn(page, all, false); len(wrong) != 1 || !strings.Contains(wrong[0], "make figures") {
		t.Errorf("%q", wrong)
	}
	if wrong := showIn(page, all, true); len(wrong) != 0 {
		t.Errorf("%q", wrong)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "| `a.Large` | 0 | 40 | 9 |\n") ||
		!strings.HasPrefix(string(text), "before\n") || !strings.HasSuffix(string(text), "after\n") {
		t.Errorf("%v: %s", err, text)
	}
	if wrong := showIn(page, all, false); len(wrong) != 0 {
		t.Errorf("%q", wrong)
	}
}
