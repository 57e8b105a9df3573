package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// The tables of docs/architecture.md name existing functions, methods, types and fields.
func TestTheArchitectureNamesWhatExists(t *testing.T) {
	house := os.DirFS("../..")
	there := declared(t, house)
	page, _, found := strings.Cut(text(t, house, "docs/architecture.md"), "## File map")
	if !found {
		t.Fatal("docs/architecture.md has no file map")
	}
	names := 0
	for _, row := range regexp.MustCompile(`(?m)^\|.*$`).FindAllString(page, -1) {
		for _, m := range regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)*)`").FindAllStringSubmatch(row, -1) {
			if names++; !there[m[1]] {
				t.Errorf("docs/architecture.md names %s, which does not exist, in %s", m[1], row)
			}
		}
	}
	if names < 50 {
		t.Errorf("the tables of docs/architecture.md name %d things: the pattern that finds them finds too little",
			names)
	}
}

// declared returns all names in non-test files, as the page writes them: F for a function, a method or a field, T.M and
// T.f for a type's methods and fields, and each of them also with the package in front.
func declared(t *testing.T, house fs.FS) map[string]bool {
	there := map[string]bool{}
	err := fs.WalkDir(house, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text(t, house, name), 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			for _, name := range namesOf(decl) {
				there[name], there[f.Name.Name+"."+name] = true, true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func namesOf(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
		if d.Recv != nil {
			names = append(names, receiver(d.Recv.List[0].Type)+"."+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok {
				names = append(names, s.Name.Name)
				names = append(names, members(s)...)
			}
		}
	}
	return names
}

// receiver returns the type of a method's receiver, without type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// members returns a type's fields, or an interface's methods.
func members(s *ast.TypeSpec) (names []string) {
	var list *ast.FieldList
	switch kind := s.Type.(type) {
	case *ast.StructType:
		list = kind.Fields
	case *ast.InterfaceType:
		list = kind.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name, s.Name.Name+"."+name.Name)
		}
	}
	return names
}
