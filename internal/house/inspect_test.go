package house

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A source is what the test reads of one package. It reads files, not the build's view, so that no build tag hides
// anything.
type source struct {
	path    string
	code    []string          // its non-test files except doc.go
	hasDoc  bool              // there is a file doc.go with a package comment
	imports map[string]string // import path → the non-test file that contains it
	inits   []string          // files with an init function
	state   map[string]string // package-level variable that can change → file
}

// inspect reads every package below fsys, except nested modules, testdata and hidden folders.
func inspect(fsys fs.FS) ([]*source, error) {
	found := map[string]*source{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(fsys, name)
		case strings.HasSuffix(name, ".go"):
			dir := path.Dir(name)
			if found[dir] == nil {
				found[dir] = &source{path: dir, imports: map[string]string{}, state: map[string]string{}}
			}
			return found[dir].read(fsys, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]*source, 0, len(found))
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// enter reports whether the go command looks into a folder for packages of this module.
func enter(fsys fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *source) read(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("reading the house: %w", err)
	}
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	if path.Base(name) == "doc.go" {
		s.hasDoc = file.Doc != nil
	} else {
		s.code = append(s.code, name)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		s.imports[imported] = name
	}
	if ast.IsGenerated(file) {
		return nil // the generator has made its variables
	}
	for _, decl := range file.Decls {
		s.declare(name, decl)
	}
	return nil
}

// declare records init functions and variables that can change.
func (s *source) declare(name string, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			s.inits = append(s.inits, name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && !embedded(d, v) {
				s.vars(name, v)
			}
		}
	}
}

func (s *source) vars(name string, v *ast.ValueSpec) {
	for i, id := range v.Names {
		if id.Name != "_" && (i >= len(v.Values) || mutable(v.Values[i])) {
			s.state[id.Name] = name
		}
	}
}

// embedded reports whether a variable gets its value by a //go:embed comment.
func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// mutable reports whether an initial value is likely to be changed later: a pointer, an empty container, a value of
// package sync. Tables, errors and functions count as constants.
func mutable(value ast.Expr) bool {
	switch e := value.(type) {
	case *ast.UnaryExpr:
		return e.Op == token.AND
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		return ok && (id.Name == "make" || id.Name == "new")
	case *ast.CompositeLit:
		if sel, ok := e.Type.(*ast.SelectorExpr); ok {
			pkg, ok := sel.X.(*ast.Ident)
			return ok && (pkg.Name == "sync" || pkg.Name == "atomic")
		}
		return len(e.Elts) == 0
	}
	return false
}
