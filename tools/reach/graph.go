package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// program is the loaded packages and the calls among their functions.
type program struct {
	module   string
	packages []*packages.Package
	calls    *callgraph.Graph
}

// load loads packages of a module with everything that they import.
func load(dir string, patterns []string) (*program, error) {
	cfg := &packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir}
	loaded, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 || len(loaded) == 0 {
		return nil, fmt.Errorf("the packages %s do not compile: see the errors above", strings.Join(patterns, " "))
	}
	prog, _ := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	prog.Build()
	return &program{
		module: loaded[0].Module.Path, packages: loaded,
		calls: vta.CallGraph(ssautil.AllFunctions(prog), cha.CallGraph(prog)),
	}, nil
}

// path is the import path of a package that is named by its path inside the module; "." or "": the module's root.
func (p *program) path(name string) string {
	if name = strings.TrimPrefix(name, "./"); name == "" || name == "." {
		return p.module
	}
	return p.module + "/" + name
}

// within returns the packages of a list of paths inside the module; those that end with /... have the packages below.
func (p *program) within(names []string) map[*types.Package]bool {
	inside := map[*types.Package]bool{}
	for _, one := range p.packages {
		if slices.ContainsFunc(names, func(name string) bool {
			tree, all := strings.CutSuffix(name, "/...")
			path := p.path(tree)
			return one.PkgPath == path || all && strings.HasPrefix(one.PkgPath, path+"/")
		}) {
			inside[one.Types] = true
		}
	}
	return inside
}

// function returns a function of the module, such as internal/engine.(*runner).work, or .(*Producer).Send of the root.
func (p *program) function(name string) (*callgraph.Node, error) {
	pkg, rest, ok := strings.Cut(name, ".(*")
	want := p.path(pkg) + "." + rest
	if ok {
		want = "(*" + want
	} else if i := strings.LastIndexByte(name, '.'); i >= 0 {
		want = p.path(name[:i]) + name[i:]
	}
	for f, n := range p.calls.Nodes {
		if f != nil && f.Parent() == nil && f.String() == want {
			return n, nil
		}
	}
	return nil, fmt.Errorf("the packages have no function %s (%s)", name, want)
}

// reached is what one has to read to understand a function.
type reached struct {
	functions []string
	longest   int        // chain of calls
	chain     []string   // one of the longest
	rings     [][]string // functions that call each other
}

// reach follows the calls of a function inside some packages.
func (p *program) reach(from string, inside []string) (r reached, err error) {
	start, err := p.function(from)
	if err != nil {
		return r, err
	}
	w := &walk{inside: p.within(inside), seen: map[*ssa.Function]bool{}}
	w.reach(start)
	r.longest = w.longest(start)
	r.chain, r.rings = w.chain, w.rings
	for f := range w.seen {
		r.functions = append(r.functions, f.String())
	}
	slices.Sort(r.functions)
	return r, nil
}

// walk follows calls inside the packages.
type walk struct {
	inside map[*types.Package]bool
	seen   map[*ssa.Function]bool
	chain  []string
	rings  [][]string
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
			w.rings = append(w.rings, names)
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
