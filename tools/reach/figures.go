package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// ceiling is a line of the file of ceilings: the largest values of some figures of one thing.
type ceiling struct {
	kind string   // step, type, folder, interfaces, exported
	name string   // "*": everything of the kind that has no line
	from string   // of a step: its function
	in   []string // of a step: the packages in which calls are followed
	most map[string]int
}

// subject is one thing with its figures.
type subject struct {
	kind, name string
	figures    map[string]int
}

// order is the order of figures in lines.
var order = []string{"functions", "chain", "rings", "fields", "methods", "files", "count"}

func parse(text string) (all []*ceiling, err error) {
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("line %d has no figure: %s", n+1, line)
		}
		c := &ceiling{kind: words[0], name: words[1], most: map[string]int{}}
		rest := words[2:]
		if c.kind == "step" {
			c.from, rest = rest[0], rest[1:]
		}
		for _, word := range rest {
			figure, value, ok := strings.Cut(word, "=")
			if !ok {
				c.in = append(c.in, word)
				continue
			}
			if c.most[figure], err = strconv.Atoi(value); err != nil || !slices.Contains(order, figure) {
				return nil, fmt.Errorf("line %d: %s is no figure", n+1, word)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// compare compares the house with its ceilings.
func compare(dir, file, page string, write bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	ceilings, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	subjects, err := measureAll(dir, ceilings)
	if err != nil {
		return err
	}
	above, below := judge(ceilings, subjects)
	if write {
		lowered := lower(string(text), subjects)
		if err := os.WriteFile(file, []byte(lowered), 0o600); err != nil {
			return err
		}
		if ceilings, err = parse(lowered); err != nil {
			return err
		}
		below = nil
	}
	if page != "" {
		above = append(above, showIn(page, ceilings, write)...)
	}
	for _, one := range below {
		fmt.Println(one)
	}
	if len(below) > 0 {
		fmt.Println("lower these ceilings: make figures")
	}
	if len(above) > 0 {
		return errors.New(strings.Join(above, "\n"))
	}
	fmt.Printf("%d figures are below their ceilings\n", len(subjects))
	return nil
}

// judge returns what is above its ceiling, and what is more than a tenth below.
func judge(ceilings []*ceiling, subjects []subject) (above, below []string) {
	for _, s := range subjects {
		c := of(ceilings, s.kind, s.name)
		if c == nil {
			continue
		}
		for _, figure := range order {
			most, limited := c.most[figure]
			is := s.figures[figure]
			switch {
			case !limited:
			case is > most:
				above = append(above, fmt.Sprintf("%s %s has %d %s, and its ceiling is %d",
					s.kind, s.name, is, figure, most))
			case c.name != "*" && 10*is < 9*most:
				below = append(below, fmt.Sprintf("%s %s has %d %s, far below its ceiling of %d",
					s.kind, s.name, is, figure, most))
			}
		}
	}
	return above, below
}

// of returns the ceiling of a subject; nil: it has none.
func of(ceilings []*ceiling, kind, name string) (found *ceiling) {
	for _, c := range ceilings {
		if c.kind == kind && (c.name == name || c.name == "*" && found == nil) {
			found = c
		}
	}
	return found
}

// measureAll returns the figures of everything that may have a ceiling.
func measureAll(dir string, ceilings []*ceiling) (all []subject, err error) {
	var patterns []string
	for _, c := range ceilings {
		for _, pkg := range c.in {
			if pattern := "./" + strings.TrimPrefix(pkg, "./"); !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	if len(patterns) > 0 {
		p, err := load(dir, patterns)
		if err != nil {
			return nil, err
		}
		for _, c := range ceilings {
			if c.kind != "step" {
				continue
			}
			r, err := p.reach(c.from, c.in)
			if err != nil {
				return nil, err
			}
			all = append(all, subject{c.kind, c.name, map[string]int{
				"functions": len(r.functions), "chain": r.longest, "rings": len(r.rings),
			}})
			for _, ring := range r.rings {
				fmt.Printf("step %s: functions that call each other: %s\n", c.name, strings.Join(ring, ", "))
			}
		}
	}
	rooms, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir}, "./...")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(rooms) > 0 {
		return nil, errors.New("the packages do not compile: see the errors above")
	}
	for _, room := range rooms {
		all = append(all, roomFigures(room)...)
	}
	return all, nil
}

// roomFigures are the figures of a package, and of its types.
func roomFigures(p *packages.Package) (all []subject) {
	name := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
	if name == "" {
		name = "."
	}
	generated := map[string]bool{}
	files := 0
	for _, f := range p.Syntax {
		path := p.Fset.Position(f.Package).Filename
		if generated[path] = ast.IsGenerated(f); !generated[path] {
			files++
		}
	}
	interfaces, exported := 0, 0
	scope := p.Types.Scope()
	for _, n := range scope.Names() {
		o := scope.Lookup(n)
		if generated[p.Fset.Position(o.Pos()).Filename] {
			continue
		}
		if o.Exported() {
			exported++
		}
		named, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !ok || !isType || named.Obj() != o {
			continue
		}
		if types.IsInterface(named) {
			if o.Exported() {
				interfaces++
			}
			continue
		}
		figures := map[string]int{"methods": named.NumMethods()}
		if st, ok := named.Underlying().(*types.Struct); ok {
			figures["fields"] = st.NumFields()
		}
		in := map[string]bool{}
		for m := range named.Methods() {
			in[p.Fset.Position(m.Pos()).Filename] = true
		}
		figures["files"] = len(in)
		all = append(all, subject{"type", typeName(name, n), figures})
	}
	return append(all, subject{"folder", name, map[string]int{"files": files}},
		subject{"interfaces", name, map[string]int{"count": interfaces}},
		subject{"exported", name, map[string]int{"count": exported}})
}

// typeName is a type's name with its package's path inside the module.
func typeName(pkg, name string) string {
	if pkg == "." {
		return "godwit." + name
	}
	return pkg + "." + name
}

// lower lowers the ceilings of a file that are more than a tenth above their figures.
func lower(text string, subjects []subject) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words := strings.Fields(line)
		if len(words) < 3 || words[1] == "*" {
			continue
		}
		for _, s := range subjects {
			if s.kind != words[0] || s.name != words[1] {
				continue
			}
			for _, figure := range slices.Sorted(maps.Keys(s.figures)) {
				for _, word := range words[2:] {
					name, value, _ := strings.Cut(word, "=")
					if most, err := strconv.Atoi(value); name == figure && err == nil && 10*s.figures[figure] < 9*most {
						lines[i] = strings.Replace(lines[i], word, fmt.Sprintf("%s=%d", figure, s.figures[figure]), 1)
					}
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

const (
	pageBegins = "<!-- figures: written by `make figures` -->\n"
	pageEnds   = "<!-- end of figures -->\n"
)

// showIn compares the table of a page with the ceilings, or writes it.
func showIn(page string, ceilings []*ceiling, write bool) (wrong []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		return []string{err.Error()}
	}
	before, rest, ok := strings.Cut(string(text), pageBegins)
	_, after, ends := strings.Cut(rest, pageEnds)
	if !ok || !ends {
		return []string{fmt.Sprintf("%s has no lines %q and %q", page, pageBegins, pageEnds)}
	}
	now := before + pageBegins + table(ceilings) + pageEnds + after
	switch {
	case now == string(text):
	case !write:
		wrong = append(wrong, fmt.Sprintf("%s has other figures than the file of ceilings: make figures",
			filepath.Base(page)))
	default:
		if err := os.WriteFile(page, []byte(now), 0o600); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}

// table is what a page has of the ceilings.
func table(ceilings []*ceiling) string {
	var b strings.Builder
	b.WriteString("| a step from | in | functions, at most | longest chain | rings |\n|---|---|---|---|---|\n")
	for _, c := range ceilings {
		if c.kind == "step" {
			fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d |\n", strings.TrimPrefix(c.from, "."), strings.Join(c.in, ", "),
				c.most["functions"], c.most["chain"], c.most["rings"])
		}
	}
	b.WriteString("\n| a type with more than 25 methods or 4 files | fields, at most | methods | files |\n")
	b.WriteString("|---|---|---|---|\n")
	for _, c := range ceilings {
		if c.kind == "type" && c.name != "*" {
			fmt.Fprintf(&b, "| `%s` | %d | %d | %d |\n", c.name,
				c.most["fields"], c.most["methods"], c.most["files"])
		}
	}
	b.WriteString("\n| a folder with more than 30 files of code | at most |\n|---|---|\n")
	for _, c := range ceilings {
		if c.kind == "folder" && c.name != "*" {
			fmt.Fprintf(&b, "| %s | %d |\n", strings.Replace(c.name, ".", "the root", 1), c.most["files"])
		}
	}
	b.WriteString("\n| | at most |\n|---|---|\n")
	for _, c := range ceilings {
		switch c.kind {
		case "interfaces":
			fmt.Fprintf(&b, "| interfaces of %s | %d |\n", c.name, c.most["count"])
		case "exported":
			fmt.Fprintf(&b, "| exported names of %s | %d |\n", strings.Replace(c.name, ".", "the root", 1),
				c.most["count"])
		}
	}
	return b.String()
}
