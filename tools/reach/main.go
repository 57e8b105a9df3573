// Command reach measures how much code one has to read to understand a function. It prints how many functions of the
// given packages a function calls, directly and indirectly, and the longest chain of calls among them. Calls through
// closures and interfaces are included. It also prints the largest types of each package.
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
	dir := flag.String("dir", ".", "the module's folder")
	from := flag.String("from", "",
		"the functions to measure, with their package's path inside the module, separated by commas")
	list := flag.Bool("list", false, "also list the functions, and one of the longest chains")
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
		return fmt.Errorf("the packages do not compile: see the errors above")
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
			return fmt.Errorf("%s: the packages have no such function", name)
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

func (w *walk) isInside(f *ssa.Function) bool {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return f.Pkg != nil && w.inside[f.Pkg.Pkg] || f.Origin() != nil && f.Origin().Pkg != nil &&
		w.inside[f.Origin().Pkg.Pkg]
}

func (w *walk) reach(n *callgraph.Node) {
	if w.seen[n.Func] || !w.isInside(n.Func) {
		return
	}
	w.seen[n.Func] = true
	for _, e := range n.Out {
		if _, other := e.Site.(*ssa.Go); !other { // a new goroutine starts a new chain
			w.reach(e.Callee)
		}
	}
}

// longest is the length of the longest chain of different functions. Functions that call each other form a cycle; a
// cycle counts with all its functions.
func (w *walk) longest(start *callgraph.Node) int {
	c := &cycles{w: w, index: map[*ssa.Function]int{}, low: map[*ssa.Function]int{}, of: map[*ssa.Function]int{}}
	c.visit(start)
	best := make([]int, len(c.all)) // cycles are in reverse order of their calls
	after := make([]int, len(c.all))
	for i, cycle := range c.all {
		deepest := 0
		for _, n := range cycle {
			for _, e := range w.calls(n) {
				if j := c.of[e.Func]; j != i && best[j] > deepest {
					deepest, after[i] = best[j], j
				}
			}
		}
		best[i] = deepest + len(cycle)
		if len(cycle) > 1 {
			var names []string
			for _, n := range cycle {
				names = append(names, n.Func.Name())
			}
			fmt.Printf("  functions that call each other: %s\n", strings.Join(names, ", "))
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
		if _, other := e.Site.(*ssa.Go); !other && w.isInside(e.Callee.Func) {
			to = append(to, e.Callee)
		}
	}
	return to
}

// cycles finds the strongly connected components (Tarjan's algorithm).
type cycles struct {
	w     *walk
	index map[*ssa.Function]int
	low   map[*ssa.Function]int
	of    map[*ssa.Function]int
	stack []*callgraph.Node
	all   [][]*callgraph.Node
}

func (c *cycles) visit(n *callgraph.Node) {
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
	cycle := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, m := range cycle {
		c.of[m.Func] = len(c.all)
	}
	c.all = append(c.all, cycle)
}

// largest prints the types of a package with the most methods.
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
