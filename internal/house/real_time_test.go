package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// Tests that wait in real time can fail on a busy machine. real_time.txt lists them, each with its reason, and the list
// only becomes shorter.
//
// A test waits in real time if it calls one of waits outside of a bubble of testing/synctest, or calls a function of
// its package's tests that does. Calls are followed by name. A method is followed if it is not exported, and the only
// one of its name in the package. Calls through variables and helpers of other packages are not seen, nor is what only
// bounds a wait, such as context.WithTimeout.
func TestTestsInRealTime(t *testing.T) {
	const file, most = "real_time.txt", 15
	listed := map[string]bool{}
	n := 0
	for line := range strings.Lines(text(t, os.DirFS("."), file)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			t.Errorf("%s: %q has no reason: write the package, the test, and why it needs real time", file, line)
			continue
		}
		listed[fields[0]+" "+fields[1]] = true
		n++
	}
	if n != most {
		t.Errorf("%s has %d tests, not %d: if there are more, use testing/synctest; if there are fewer, lower the number, "+
			"which is never raised", file, n, most)
	}
	for dir, fns := range testFunctions(t, os.DirFS("../..")) {
		for name := range fns {
			if !strings.HasPrefix(name, "Test") || !fns.wait(name, map[string]bool{}) {
				continue
			}
			key := dir + " " + name
			if !listed[key] {
				t.Errorf("%s waits in real time: use testing/synctest; if it cannot, name it in %s with the reason", key, file)
			}
			delete(listed, key)
		}
	}
	for key := range listed {
		t.Errorf("%s does not wait in real time any more: remove its line from %s, and lower the number above", key, file)
	}
}

// waits are the calls that wait for a duration.
var waits = map[string]bool{
	"time.Sleep": true, "time.After": true, "time.Tick": true, "time.NewTimer": true, "time.NewTicker": true,
}

// function is what a function of a package's tests does outside of bubbles.
type function struct {
	waits bool
	calls []string // names of functions and, with a dot before them, of methods
}

type functions map[string]*function // by the same names

// wait reports whether a function waits in real time, or calls one that does.
func (fs functions) wait(name string, seen map[string]bool) bool {
	f := fs[name]
	if f == nil || seen[name] {
		return false
	}
	seen[name] = true
	return f.waits || slices.ContainsFunc(f.calls, func(callee string) bool { return fs.wait(callee, seen) })
}

// testFunctions reads the functions in the test files of each package of the module, by folder.
func testFunctions(t *testing.T, house fs.FS) map[string]functions {
	t.Helper()
	parsed, methods := map[string][]*ast.FuncDecl{}, map[string]int{}
	err := fs.WalkDir(house, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || hasModule(house, name)):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := fs.ReadFile(house, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || fn.Body == nil:
			case strings.HasSuffix(name, "_test.go"):
				parsed[path.Dir(name)] = append(parsed[path.Dir(name)], fn)
			case fn.Recv != nil:
				methods[path.Dir(name)+" "+fn.Name.Name]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]functions{}
	for dir, decls := range parsed {
		fns := functions{}
		bubbles := map[string]bool{"synctest.Test": true}
		for again := true; again; { // a helper may call another one that makes the bubble
			again = false
			for _, fn := range decls {
				name := fn.Name.Name
				if !bubbles[name] && takesFunction(fn) && callsAny(fn, bubbles) {
					bubbles[name], again = true, true
				}
			}
		}
		for _, fn := range decls {
			if fn.Recv != nil {
				methods[dir+" "+fn.Name.Name]++
			}
		}
		for _, fn := range decls {
			name := fn.Name.Name
			if fn.Recv != nil {
				if methods[dir+" "+name] > 1 || fn.Name.IsExported() {
					continue
				}
				name = "." + name
			}
			f := &function{}
			f.read(fn.Body, bubbles)
			fns[name] = f
		}
		all[dir] = fns
	}
	return all
}

func hasModule(house fs.FS, dir string) bool {
	_, err := fs.Stat(house, path.Join(dir, "go.mod"))
	return err == nil
}

// read notes what a body calls outside of bubbles.
func (f *function) read(body ast.Node, bubbles map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, last := called(call)
		switch {
		case bubbles[name] || bubbles[last]:
			return false // its arguments run in the bubble
		case waits[name]:
			f.waits = true
		case name == last:
			f.calls = append(f.calls, name)
		default:
			f.calls = append(f.calls, "."+last)
		}
		return true
	})
}

// called returns the name of a called function with its package or receiver, and without.
func called(call *ast.CallExpr) (whole, last string) {
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		return fn.Name, fn.Name
	case *ast.SelectorExpr:
		if x, ok := fn.X.(*ast.Ident); ok {
			return x.Name + "." + fn.Sel.Name, fn.Sel.Name
		}
		return "", fn.Sel.Name
	}
	return "", ""
}

func takesFunction(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		_, ok := p.Type.(*ast.FuncType)
		return ok
	})
}

func callsAny(fn *ast.FuncDecl, names map[string]bool) (found bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			whole, last := called(call)
			found = found || names[whole] || names[last]
		}
		return !found
	})
	return found
}
