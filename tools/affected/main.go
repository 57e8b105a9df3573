// Command affected prints the long steps of the check that a change can affect, a line each, and on standard error why.
//
//	go run ./affected -dir .. -since COMMIT
//
// A change of a package's code affects the package, all packages that import it, directly or not, and those whose tests
// do. A change of a package's tests or test data affects only that package. The steps of each package are in
// internal/house/parts.txt. Without a commit, or with one that this repository does not have, all steps are affected.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "the folder of the repository")
	since := flag.String("since", "", "the commit that passed")
	flag.Parse()
	if err := run(*dir, *since, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
}

func run(dir, since string, steps, why io.Writer) error {
	parts, err := readParts(filepath.Join(dir, "internal/house/parts.txt"))
	if err != nil {
		return err
	}
	files, known := changes(dir, since)
	if !known {
		fmt.Fprintf(why, "no full run of a commit of this history is recorded: every step is affected\n")
		return parts.print(steps, parts.all())
	}
	packages, err := list(dir)
	if err != nil {
		return err
	}
	affected := map[string]string{} // step → its first reason
	because := func(where []string, reason string) {
		for _, step := range where {
			if affected[step] == "" {
				affected[step] = reason
			}
		}
	}
	var changed []string // packages whose code changed
	for _, file := range files {
		if file == "go.mod" || file == "go.sum" {
			because(parts.all(), file+" has changed")
		}
		because(parts.of(file), file+" has changed")
		if p := packages.holding(file); p != nil && isCode(file) && !slices.Contains(changed, p.path) {
			changed = append(changed, p.path)
		}
	}
	for reached, from := range packages.dependents(changed) {
		because(parts.of(reached), fmt.Sprintf("%s depends on %s", reached, from))
	}
	for _, step := range parts.all() {
		if reason := affected[step]; reason != "" {
			fmt.Fprintf(why, "%s: %s\n", step, reason)
		}
	}
	return parts.print(steps, slices.DeleteFunc(parts.all(), func(step string) bool { return affected[step] == "" }))
}

// parts has the steps of each path; the longest path that holds a file decides.
type parts map[string][]string

func readParts(name string) (parts, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := parts{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			p[fields[0]] = slices.DeleteFunc(fields[1:], func(step string) bool { return step == "none" })
		}
	}
	return p, nil
}

func (p parts) of(file string) []string {
	for at := file; at != "."; at = path.Dir(at) {
		if steps, ok := p[at]; ok {
			return steps
		}
	}
	return nil
}

func (p parts) all() []string {
	var all []string
	for _, steps := range p {
		all = append(all, steps...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p parts) print(to io.Writer, steps []string) error {
	for _, step := range steps {
		if _, err := fmt.Fprintln(to, step); err != nil {
			return err
		}
	}
	return nil
}

// changes lists the files that differ from the commit, those that are not committed among them. It reports false if
// there is no such commit.
func changes(dir, since string) ([]string, bool) {
	if since == "" || exec.Command("git", "-C", dir, "merge-base", "--is-ancestor", since, "HEAD").Run() != nil {
		return nil, false
	}
	var all []string
	for _, args := range [][]string{
		{"diff", "--name-only", "--no-renames", since}, {"ls-files", "--others", "--exclude-standard"},
	} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			return nil, false
		}
		all = append(all, strings.Fields(string(out))...)
	}
	return all, true
}

// isCode reports whether importers of the file's package can notice its change. They cannot if it is a test, test data
// or a page.
func isCode(file string) bool {
	return !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "/testdata/") && path.Ext(file) != ".md"
}

// pkg is a package of the module, by its path below the module's root.
type pkg struct {
	path           string
	imports, tests []string
}

type pkgs []*pkg

func list(dir string) (pkgs, error) {
	cmd := exec.Command("go", "list", "-tags", "synctests", "-json=ImportPath,Module,Imports,TestImports,XTestImports",
		"./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all pkgs
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath                         string
			Module                             struct{ Path string }
			Imports, TestImports, XTestImports []string
		}
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		ours := func(paths []string) (inside []string) {
			for _, one := range paths {
				if rest, ok := strings.CutPrefix(one, p.Module.Path); ok && (rest == "" || rest[0] == '/') {
					inside = append(inside, below(rest))
				}
			}
			return inside
		}
		all = append(all, &pkg{
			path:    below(strings.TrimPrefix(p.ImportPath, p.Module.Path)),
			imports: ours(p.Imports), tests: ours(append(p.TestImports, p.XTestImports...)),
		})
	}
	return all, nil
}

func below(rest string) string { return path.Clean(strings.TrimPrefix(rest, "/")) }

// holding returns the package in whose folder, or nearest above whose folder, the file is; nil if that is the root
// package and the file is in another folder.
func (all pkgs) holding(file string) *pkg {
	for at := path.Dir(file); ; at = path.Dir(at) {
		for _, p := range all {
			if p.path == at && (at != "." || path.Dir(file) == ".") {
				return p
			}
		}
		if at == "." {
			return nil
		}
	}
}

// dependents returns the packages that depend on the changed ones, each with the one it was reached from: through
// imports at any distance, and last through the imports of tests.
func (all pkgs) dependents(changed []string) map[string]string {
	reached := map[string]string{}
	for _, p := range changed {
		reached[p] = p
	}
	for next := changed; len(next) > 0; next = next[1:] {
		for _, p := range all {
			if _, seen := reached[p.path]; !seen && slices.Contains(p.imports, next[0]) {
				reached[p.path] = reached[next[0]]
				next = append(next, p.path)
			}
		}
	}
	last := map[string]string{}
	for _, p := range all {
		for _, tested := range p.tests {
			if from, ok := reached[tested]; ok {
				last[p.path] = from
			}
		}
	}
	for p, from := range last {
		if _, seen := reached[p]; !seen {
			reached[p] = from
		}
	}
	return reached
}
