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

// Every record of a decision stands in the index, with its title, and is linked from a page or a comment that it
// explains: a record that nothing links to is not found.
func TestDecisionsStandInTheIndex(t *testing.T) {
	house := os.DirFS("../..")
	records, err := fs.Glob(house, "docs/decisions/[0-9]*.md")
	if err != nil || len(records) < 10 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	index, linked := text(t, house, "docs/decisions/README.md"), map[string]bool{}
	numbered := regexp.MustCompile(`(?i)decisions?[\s/]+(\d{4})`)
	err = walk(house, func(name string) {
		if strings.HasPrefix(name, "docs/decisions/") {
			return
		}
		for _, m := range numbered.FindAllStringSubmatch(strings.ReplaceAll(text(t, house, name), "\n// ", "\n"), -1) {
			linked[m[1]] = true
			if !slices.ContainsFunc(records, func(r string) bool { return strings.HasPrefix(path.Base(r), m[1]+"-") }) {
				t.Errorf("%s names decision %s, which does not exist: name the page that says it now", name, m[1])
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		number := path.Base(record)[:4]
		if number == "0000" { // the template
			continue
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(text(t, house, record), "# "+number+". "), "\n")
		line := "* [" + number + "](" + path.Base(record) + "): " + strings.ToLower(title[:1]) + title[1:] + "\n"
		if strings.Count(index, line) != 1 {
			t.Errorf("docs/decisions/README.md does not have the line %q once", line)
		}
		if !linked[number] {
			t.Errorf("nothing links to %s: merge it into the page that it explains, or delete it", record)
		}
	}
	if lines := strings.Count(index, "\n* ["); lines != len(records)-1 {
		t.Errorf("docs/decisions/README.md has %d lines for %d records", lines, len(records)-1)
	}
}

// Every link of a page leads to a file that exists, and to a heading that the file has.
func TestLinksLeadSomewhere(t *testing.T) {
	house := os.DirFS("../..")
	links, link := 0, regexp.MustCompile(`\]\(([^)\s]+)\)`)
	check := func(page string) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(text(t, house, page)), -1) {
			if strings.Contains(m[1], ":") || strings.Contains(m[1], "NNNN") {
				continue
			}
			links++
			file, heading, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := fs.Stat(house, to); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if heading != "" && !slices.Contains(anchors(text(t, house, to)), heading) {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	}
	check("CHANGELOG.md")
	err := walk(house, func(name string) {
		if path.Ext(name) == ".md" {
			check(name)
		}
	})
	if err != nil || links < 100 {
		t.Errorf("found %d links: %v", links, err)
	}
}

// withoutCode is a page without its blocks of code.
func withoutCode(page string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(page, "")
}

// anchors are the names that links give to the headings of a page.
func anchors(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
