package house

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// headless finds explanations whose noun the reader has to look for: a sentence that begins with "That of" or "Those
// of", and "is none" other than in "there is none".
var headless = regexp.MustCompile(`(?m)(?:^|[.;:] )(?:Those|That) of\b|\b\w+ (?:is|are) none\b`)

// An explanation names its noun: "the checksum of the parts", and not "that of the parts".
func TestExplanationsNameTheirNoun(t *testing.T) {
	house, seen := os.DirFS("../.."), 0
	check := func(name, text string) {
		seen++
		for _, found := range headless.FindAllString(text, -1) {
			if strings.HasPrefix(strings.ToLower(found), "there ") {
				continue
			}
			t.Errorf("%s: %q: name the noun", name, strings.TrimSpace(found))
		}
	}
	err := walk(house, func(name string) {
		if path.Ext(name) == ".md" {
			check(name, prose(text(t, house, name)))
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text(t, house, name), parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Comments {
			check(name, c.Text())
		}
	})
	if err != nil || seen < 1000 {
		t.Fatalf("read %d comments: %v", seen, err)
	}
}
