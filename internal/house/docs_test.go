package house

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documentation names the test for each promise. The test must exist.
func TestPagesNameTestsThatExist(t *testing.T) {
	house := os.DirFS("../..")
	there := testNames(t, house)
	for page, least := range map[string]int{
		"docs/delivery-semantics.md": 20, "docs/consumer.md": 3, "docs/security.md": 30,
	} {
		named := regexp.MustCompile("`(Test[A-Za-z0-9]+|[a-z]+/[a-z]+)`").FindAllStringSubmatch(text(t, house, page),
			-1)
		if len(named) < least {
			t.Errorf("%s names %d tests: the pattern that finds them finds too little", page, len(named))
		}
		for _, m := range named {
			if !there[m[1]] {
				t.Errorf("%s names %s, and there is no such test or case", page, m[1])
			}
		}
	}
}

// For each backend, every guarantee names a test, or says that no test shows it. An empty cell would say neither.
func TestSemanticsHaveNoEmptyCells(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| \d.*$`).FindAllString(text(t, os.DirFS("../.."), "docs/delivery-semantics.md"),
		-1)
	if len(rows) < 8 {
		t.Fatalf("%d rows; want at least 8", len(rows))
	}
	for _, row := range rows {
		for cell := range strings.SplitSeq(strings.Trim(row, "|"), "|") {
			if strings.TrimSpace(cell) == "" {
				t.Errorf("an empty cell in %s", row)
			}
		}
	}
}

// The file map of docs/architecture.md names existing files, and all files of the root package.
func TestFileMapIsTheTree(t *testing.T) {
	house := os.DirFS("../..")
	_, rest, found := strings.Cut(text(t, house, "docs/architecture.md"), "### godwit (the root)")
	root, rest, divided := strings.Cut(rest, "### internal/engine")
	engine, around, ended := strings.Cut(rest, "### Around it")
	if !found || !divided || !ended {
		t.Fatal("docs/architecture.md has no file map")
	}
	mapHolds(t, house, ".", root)
	mapHolds(t, house, "internal/engine", engine)
	for _, r := range plan {
		top, _, _ := strings.Cut(r.path, "/")
		if r.path != "." && !strings.Contains(around, "| "+r.path) && !strings.Contains(around, ", "+r.path) &&
			top != "examples" {
			t.Errorf("the file map of docs/architecture.md misses package %s: say what it is", r.path)
		}
	}
}

// mapHolds compares a part of the file map with its folder.
func mapHolds(t *testing.T, house fs.FS, dir, part string) {
	t.Helper()
	mapped := map[string]bool{}
	for _, name := range regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(part, -1) {
		mapped[name] = true
		if _, err := fs.Stat(house, path.Join(dir, name)); err != nil {
			t.Errorf("the file map of docs/architecture.md names %s: %v", name, err)
		}
	}
	files, err := fs.Glob(house, path.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := path.Base(file); !strings.HasSuffix(name, "_test.go") && !mapped[name] {
			t.Errorf("the file map of docs/architecture.md misses %s: say what is found there", file)
		}
	}
}

// README.md links to every page of docs/, and only to existing files. Decisions need no link of their own.
func TestReadmeLeadsToEveryPage(t *testing.T) {
	house := os.DirFS("../..")
	linked := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text(t, house, "README.md"), -1) {
		linked[m[1]] = true
		if _, err := fs.Stat(house, strings.TrimSuffix(m[1], "/")); err != nil {
			t.Errorf("README.md leads to %s: %v", m[1], err)
		}
	}
	pages, err := fs.Glob(house, "docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages in docs/: %v", len(pages), err)
	}
	for _, page := range append(pages, "docs/decisions/") {
		if !linked[page] {
			t.Errorf("README.md does not lead to %s", page)
		}
	}
}

// The code in docs/habits.md and docs/migrating.md is compiled or run: its Go is in example_habits_test.go, and the
// rest in the workers that tests run.
func TestHabitsAreCode(t *testing.T) {
	house := os.DirFS("../..")
	code := ""
	for _, name := range []string{
		"example_habits_test.go", "examples/workers/worker.py", "examples/workers/worker.rb",
		"examples/workers/worker.mjs",
	} {
		code += text(t, house, name)
	}
	code = strings.ReplaceAll(code, "\n\t", "\n") // examples are functions, and the page has their lines
	for page, least := range map[string]int{"docs/habits.md": 6, "docs/migrating.md": 2} {
		blocks := regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(text(t, house, page), -1)
		if len(blocks) < least {
			t.Errorf("%s has %d blocks of code: the pattern that finds them finds too little", page, len(blocks))
		}
		for _, b := range blocks {
			if !strings.Contains(code, b[1]) {
				t.Errorf("%s has code that no test compiles:\n%s", page, b[1])
			}
		}
	}
}

// An entry of CHANGELOG.md has at most 25 words, and stands in one of four sections.
func TestChangelogIsShort(t *testing.T) {
	_, rest, found := strings.Cut(text(t, os.DirFS("../.."), "CHANGELOG.md"), "\n## Unreleased\n")
	if !found {
		t.Fatal("CHANGELOG.md has no section Unreleased")
	}
	unreleased, _, _ := strings.Cut(rest, "\n## ")
	for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(unreleased, -1) {
		if !slices.Contains([]string{"Added", "Changed", "Fixed", "Removed"}, m[1]) {
			t.Errorf("CHANGELOG.md has the section %s", m[1])
		}
	}
	entries := regexp.MustCompile(`(?m)^\* .*(?:\n  .*)*`).FindAllString(unreleased, -1)
	if len(entries) == 0 {
		t.Error("CHANGELOG.md has no entries")
	}
	for _, entry := range entries {
		read := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(entry, "]")
		if words := len(strings.Fields(read)) - 1; words > 25 {
			t.Errorf("an entry of CHANGELOG.md has %d words, and 25 are allowed:\n%s", words, entry)
		}
	}
}

// testNames returns the names of all test functions, and of the cases of the conformance kit.
func testNames(t *testing.T, house fs.FS) map[string]bool {
	names := map[string]bool{}
	function, kitCase := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`name:\s+"([a-z]+/[^"]+)",`)
	err := fs.WalkDir(house, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var pattern *regexp.Regexp
		switch {
		case strings.HasSuffix(name, "_test.go"):
			pattern = function
		case strings.HasPrefix(name, "driver/drivertest/"):
			pattern = kitCase
		default:
			return nil
		}
		for _, m := range pattern.FindAllStringSubmatch(text(t, house, name), -1) {
			names[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func text(t *testing.T, house fs.FS, name string) string {
	t.Helper()
	b, err := fs.ReadFile(house, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
