package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// glossed are the packages whose declared names keep the glossary, as all texts do.
var glossed = []string{".", "driver", "internal/engine", "internal/bodies", "internal/batch", "snssqs", "kafka"}

// One exit has one word, in names as in texts: a name in mixed caps is read as its words.
func TestNamesKeepTheGlossary(t *testing.T) {
	house := os.DirFS("../..")
	words, read := rules(t, house), 0
	err := walk(house, func(name string) {
		if strings.HasSuffix(name, ".go") && slices.Contains(glossed, path.Dir(name)) {
			read++
			for _, complaint := range words.names(t, name, text(t, house, name)) {
				t.Error(complaint)
			}
		}
	})
	if err != nil || read < 100 {
		t.Errorf("read %d files: %v", read, err)
	}
}

// Declared names are read as words; what is not declared here is not read.
func TestNamesAreReadAsWords(t *testing.T) {
	r := wording{avoid("let go", "release")}
	for source, bad := range map[string]bool{
		"func (w *w) letGo() {}":         true,
		"type letGoAll struct{}":         true,
		"var t struct{ letsGo int }":     false,
		"type t struct{ mustLetGo int }": true,
		"func f() { x.letGo() }":         false,
	} {
		if got := r.names(t, "a/x.go", "package a\n\n"+source+"\n"); (len(got) > 0) != bad {
			t.Errorf("%s: %v", source, got)
		}
	}
}

// names are the declared names of a file that have a word to avoid.
func (r wording) names(t *testing.T, name, text string) (all []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	check := func(ids ...*ast.Ident) {
		for _, id := range ids {
			words := strings.ReplaceAll(snake(id.Name), "_", " ")
			all = append(all, r.find(name, set.Position(id.Pos()).Line, words)...)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Name)
		case *ast.TypeSpec:
			check(n.Name)
		case *ast.ValueSpec:
			check(n.Names...)
		case *ast.Field:
			check(n.Names...)
		}
		return true
	})
	return all
}
