package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// fixedPort is an address with a port that is not 0.
var fixedPort = regexp.MustCompile(`^[^/]*:[1-9][0-9]*$`)

// No test listens on a port of its own choice: another process may have it, and two runs beside each other do.
func TestNoFixedPorts(t *testing.T) {
	inTests(t, func(n ast.Node, at token.Position) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		listen, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(listen.Sel.Name, "Listen") {
			return
		}
		for _, arg := range call.Args {
			lit, ok := arg.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			if addr, err := strconv.Unquote(lit.Value); err == nil && fixedPort.MatchString(addr) {
				t.Errorf("%s listens on %q: use port 0, and ask for the address", at, addr)
			}
		}
	})
}

// A test cancels polls only of a server in its process. Over a connection, the server may give a message to a poll that
// has gone, and then the message is invisible until its lease ends.
func TestCanceledPollsAreInProcess(t *testing.T) {
	inTests(t, func(n ast.Node, at token.Position) {
		options, ok := n.(*ast.CompositeLit)
		if !ok {
			return
		}
		set := map[string]bool{}
		for _, one := range options.Elts {
			if field, ok := one.(*ast.KeyValueExpr); ok {
				if name, ok := field.Key.(*ast.Ident); ok {
					set[name.Name] = true
				}
			}
		}
		if set["CancelPolls"] && !set["Transport"] {
			t.Errorf("%s: CancelPolls is set without Transport: let the consumers have WaitTime: -1 instead", at)
		}
	})
}

// inTests shows every node of the tests.
func inTests(t *testing.T, show func(n ast.Node, at token.Position)) {
	t.Helper()
	house := os.DirFS("../..")
	err := fs.WalkDir(house, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(house, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				show(n, files.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
