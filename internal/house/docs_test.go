package house

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/delivery-semantics.md says which test shows what. A test that was renamed or removed shows nothing any more.
func TestSemanticsNameTestsThatExist(t *testing.T) {
	house := os.DirFS("../..")
	page := text(t, house, "docs/delivery-semantics.md")
	there := testNames(t, house)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+|[a-z]+/[a-z]+)`").FindAllStringSubmatch(page, -1)
	if len(named) == 0 {
		t.Fatal("docs/delivery-semantics.md names no test at all")
	}
	for _, m := range named {
		if name := m[1]; name != "driver/drivertest" && !there[name] {
			t.Errorf("docs/delivery-semantics.md names %s, and there is no such test or case", name)
		}
	}
}

// The file map of docs/architecture.md leads to files that are there.
func TestFileMapLeadsSomewhere(t *testing.T) {
	house := os.DirFS("../..")
	_, rest, found := strings.Cut(text(t, house, "docs/architecture.md"), "### godwit (the root)")
	root, _, ended := strings.Cut(rest, "### Around it")
	files := regexp.MustCompile(`\b[a-z]+\.go\b`).FindAllString(root, -1)
	if !found || !ended || len(files) == 0 {
		t.Fatal("docs/architecture.md has no file map of the root package")
	}
	for _, name := range files {
		if _, err := fs.Stat(house, name); err != nil {
			t.Errorf("the file map of docs/architecture.md names %s: %v", name, err)
		}
	}
}

// testNames are the names of all test functions, and of the conformance kit's cases.
func testNames(t *testing.T, house fs.FS) map[string]bool {
	names := map[string]bool{}
	function, kitCase := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile(`\{name: "([^"]+)", shows:`)
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
