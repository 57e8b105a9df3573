package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alsoOptions are structs of options whose names do not say so, by package.
var alsoOptions = map[string][]string{
	".":      {"Filter", "Ownership", "Rate"},
	"kafka":  {"Resource", "SASL", "Start"},
	"snssqs": {"Resource"},
}

// notForUsers are files whose options only authors of backends set, or Godwit itself.
var notForUsers = regexp.MustCompile(`(^|/)internal/|^(bench|driver|tools)/|^localaws/.+/`)

// Each option says what it does and when to change it: its comment begins with its name and has two sentences.
func TestOptionsSayWhenToChangeThem(t *testing.T) {
	house := os.DirFS("../..")
	found := 0
	err := walk(house, func(name string) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || notForUsers.MatchString(name) {
			return
		}
		n, complaints := optionsWithoutComment(name, text(t, house, name))
		found += n
		for _, c := range complaints {
			t.Error(c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 80 {
		t.Errorf("found %d options: the test finds too little", found)
	}
}

// The rule finds what it is made for.
func TestOptionsWithoutComment(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"fine", "// A is a number. Set it when one is needed.\n\tA int", ""},
		{"no comment", "A int // a number", "Options.A has no comment above it"},
		{"another name", "// It is a number. Set it.\n\tA int", "Options.A: begin the comment with its name"},
		{"one sentence", "// A is a number; 0: 1.5.\n\tA int", "Options.A: say when to change it"},
		{"two names", "// A and B are numbers. Set them.\n\tA, B int", ""},
		{"not exported", "a int", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := optionsWithoutComment("a/x.go", "package a\n\ntype Options struct {\n\t"+c.fields+"\n}\n")
			expect(t, got, c.want)
		})
	}
}

// sentenceEnd is the end of a sentence. A point inside of a number or a name does not end one.
var sentenceEnd = regexp.MustCompile(`[.]"?(\s|$)`)

// optionsWithoutComment counts the options of a file, and complains of those whose comments say too little.
func optionsWithoutComment(name, text string) (n int, complaints []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return 0, []string{err.Error()}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || !isOptions(path.Dir(name), spec.Name.Name) {
			return true
		}
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range body.Fields.List {
			if len(field.Names) == 0 || !field.Names[0].IsExported() {
				continue
			}
			n++
			option := spec.Name.Name + "." + field.Names[0].Name
			if c := missing(field); c != "" {
				complaints = append(complaints, fmt.Sprintf("%s: %s%s", set.Position(field.Pos()), option, c))
			}
		}
		return true
	})
	return n, complaints
}

func isOptions(dir, name string) bool {
	if strings.HasSuffix(name, "Options") {
		return ast.IsExported(name)
	}
	return slices.Contains(alsoOptions[dir], name)
}

// missing says what the comment of a field lacks.
func missing(field *ast.Field) string {
	comment := strings.TrimSpace(field.Doc.Text())
	switch {
	case comment == "":
		return " has no comment above it"
	case !strings.HasPrefix(comment, field.Names[0].Name+" "):
		return ": begin the comment with its name"
	case len(sentenceEnd.FindAllString(comment, -1)) < 2:
		return ": say when to change it"
	}
	return ""
}
