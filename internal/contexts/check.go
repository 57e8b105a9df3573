package contexts

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	// patience is how long the context of a call lasts.
	patience = 3 * time.Second
	// late is how much later a call may return.
	late = 2 * time.Second
)

// World is what the cases of a package share, made for each of them.
type World interface {
	// Hang makes the service take requests and answer none.
	Hang()
}

// Cases are the calls of a package's functions by name, such as Producer.Send. Each prepares what it needs, and returns
// the call, which is made when the service hangs.
type Cases[W World] map[string]func(w W) func(ctx context.Context) error

// Check makes each call with a context that ends, in a bubble. idle has the functions that never wait for anything, and
// why.
func Check[W World](t *testing.T, dir string, make func(t *testing.T) W, cases Cases[W], idle map[string]string) {
	t.Helper()
	functions := functionsOf(t, dir)
	for name := range cases {
		if !slices.Contains(functions, name) {
			t.Errorf("%s is no exported function with a context: remove its case", name)
		}
	}
	for name := range idle {
		if !slices.Contains(functions, name) {
			t.Errorf("%s is no exported function with a context: do not list it", name)
		}
	}
	for _, name := range functions {
		prepare := cases[name]
		switch {
		case prepare == nil && idle[name] == "":
			t.Errorf("%s takes a context: add a case that shows that it ends with it", name)
		case prepare != nil:
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := make(t)
					call := prepare(w)
					w.Hang()
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					begun := time.Now()
					err := call(ctx)
					if took := time.Since(begun); took > patience+late {
						t.Errorf("returned %v after the end of its context: %v", took-patience, err)
					}
				})
			})
		}
	}
}

// functionsOf returns the exported functions and methods of exported types in a folder that take a context, sorted.
func functionsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && takesContext(fn) {
				if name := nameOf(fn); name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func takesContext(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		s, ok := p.Type.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := s.X.(*ast.Ident)
		return ok && pkg.Name == "context" && s.Sel.Name == "Context"
	})
}

// nameOf is the name of a function, with its receiver's type; "": it is not exported.
func nameOf(fn *ast.FuncDecl) string {
	if !fn.Name.IsExported() {
		return ""
	}
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if name, ok := t.(*ast.Ident); ok && name.IsExported() {
		return name.Name + "." + fn.Name.Name
	}
	return ""
}
