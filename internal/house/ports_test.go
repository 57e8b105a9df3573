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
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			listen, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(listen.Sel.Name, "Listen") {
				return true
			}
			for _, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				if at, err := strconv.Unquote(lit.Value); err == nil && fixedPort.MatchString(at) {
					t.Errorf("%s listens on %q: use port 0, and ask for the address", files.Position(lit.Pos()), at)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
