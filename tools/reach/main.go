// Command reach prints how much of a package one has to hold in mind: how many functions one function reaches inside given
// packages, and the longest chain of calls among them, with closures and interfaces followed; and the largest types.
//
//	go run ./reach -dir .. -from 'internal/engine.(*worker).loop' ./internal/engine .
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

func main() {
	dir := flag.String("dir", ".", "the module")
	from := flag.String("from", "", "the function to begin with, as its package's path below the module prints it; several: separated by commas")
	list := flag.Bool("list", false, "list the functions, and one of the longest chains")
	flag.Parse()
	if err := run(*dir, strings.Split(*from, ","), *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, from []string, list bool, patterns []string) error {
	cfg := &packages.Config{Mode: packages.LoadAllSyntax, Dir: dir}
	loaded, err := packages.Load(cfg, patterns...)
	if err != nil {
		return err
	}
	if packages.PrintErrors(loaded) > 0 {
		return fmt.Errorf("the packages have errors")
	}
	inside := map[*types.Package]bool{}
	for _, p := range loaded {
		inside[p.Types] = true
		largest(p)
	}
	prog, _ := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	prog.Build()
	all := ssautil.AllFunctions(prog)
	graph := vta.CallGraph(all, cha.CallGraph(prog))
	for _, name := range from {
		var start *callgraph.Node
		for f, n := range graph.Nodes {
			if f != nil && f.Pkg != nil && strings.HasSuffix(f.String(), name) && f.Parent() == nil {
				start = n
			}
		}
		if start == nil {
			return fmt.Errorf("%s: there is no such function", name)
		}
		w := &walk{inside: inside, seen: map[*ssa.Function]bool{}}
		w.reach(start)
		fmt.Printf("%s reaches %d functions, in chains of up to %d\n", name, len(w.seen), w.longest(start))
		if list {
			fmt.Println("a longest chain:", strings.Join(w.chain, " → "))
			var names []string
			for f := range w.seen {
				names = append(names, f.String())
			}
			slices.Sort(names)
			fmt.Println(strings.Join(names, "\n"))
		}
	}
	return nil
}

// walk follows calls inside the packages.
type walk struct {
	inside map[*types.Package]bool
	seen   map[*ssa.Function]bool
	chain  []string
}

func (w *walk) here(f *ssa.Function) bool {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return f.Pkg != nil && w.inside[f.Pkg.Pkg] || f.Origin() != nil && f.Origin().Pkg != nil && w.inside[f.Origin().Pkg.Pkg]
}

func (w *walk) reach(n *callgraph.Node) {
	if w.seen[n.Func] || !w.here(n.Func) {
		return
	}
	w.seen[n.Func] = true
	for _, e := range n.Out {
		if _, other := e.Site.(*ssa.Go); !other { // another goroutine is another chain
			w.reach(e.Callee)
		}
	}
}

// longest is the length of the longest chain of different functions: of the graph whose cycles are one knot each, a knot
// counting for as many functions as it has.
func (w *walk) longest(start *callgraph.Node) int {
	c := &knots{w: w, index: map[*ssa.Function]int{}, low: map[*ssa.Function]int{}, of: map[*ssa.Function]int{}}
	c.visit(start)
	best := make([]int, len(c.all)) // knots come in reverse order of their calls
	after := make([]int, len(c.all))
	for i, knot := range c.all {
		deepest := 0
		for _, n := range knot {
			for _, e := range w.calls(n) {
				if j := c.of[e.Func]; j != i && best[j] > deepest {
					deepest, after[i] = best[j], j
				}
			}
		}
		best[i] = deepest + len(knot)
		if len(knot) > 1 {
			var names []string
			for _, n := range knot {
				names = append(names, n.Func.Name())
			}
			fmt.Printf("  call each other: %s\n", strings.Join(names, ", "))
		}
	}
	for i := c.of[start.Func]; ; i = after[i] {
		w.chain = append(w.chain, c.all[i][0].Func.Name())
		if best[i] == len(c.all[i]) {
			break
		}
	}
	return best[c.of[start.Func]]
}

func (w *walk) calls(n *callgraph.Node) (to []*callgraph.Node) {
	for _, e := range n.Out {
		if _, other := e.Site.(*ssa.Go); !other && w.here(e.Callee.Func) {
			to = append(to, e.Callee)
		}
	}
	return to
}

// knots are the strongly connected components (Tarjan).
type knots struct {
	w     *walk
	index map[*ssa.Function]int
	low   map[*ssa.Function]int
	of    map[*ssa.Function]int
	stack []*callgraph.Node
	all   [][]*callgraph.Node
}

func (c *knots) visit(n *callgraph.Node) {
	c.index[n.Func], c.low[n.Func] = len(c.index)+1, len(c.index)+1
	c.stack = append(c.stack, n)
	for _, to := range c.w.calls(n) {
		switch _, closed := c.of[to.Func]; {
		case c.index[to.Func] == 0:
			c.visit(to)
			c.low[n.Func] = min(c.low[n.Func], c.low[to.Func])
		case !closed:
			c.low[n.Func] = min(c.low[n.Func], c.index[to.Func])
		}
	}
	if c.low[n.Func] != c.index[n.Func] {
		return
	}
	at := slices.Index(c.stack, n)
	knot := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, m := range knot {
		c.of[m.Func] = len(c.all)
	}
	c.all = append(c.all, knot)
}

// largest prints the types with the most methods of a package.
func largest(p *packages.Package) {
	type size struct {
		name                  string
		fields, methods, file int
	}
	var sizes []size
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		named, ok := scope.Lookup(name).Type().(*types.Named)
		if !ok || scope.Lookup(name).Pkg() != p.Types {
			continue
		}
		s := size{name: name, methods: named.NumMethods()}
		if st, ok := named.Underlying().(*types.Struct); ok {
			s.fields = st.NumFields()
		}
		files := map[string]bool{}
		for m := range named.Methods() {
			files[p.Fset.Position(m.Pos()).Filename] = true
		}
		s.file = len(files)
		sizes = append(sizes, s)
	}
	slices.SortFunc(sizes, func(a, b size) int { return cmp.Or(b.methods-a.methods, b.fields-a.fields) })
	for _, s := range sizes[:min(6, len(sizes))] {
		fmt.Printf("%s.%s: %d fields, %d methods in %d files\n", p.PkgPath, s.name, s.fields, s.methods, s.file)
	}
}
