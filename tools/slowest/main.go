// Command slowest reads the events of `go test -json` and prints what `go test` would: a line for each package, and the
// output of tests that failed. Then it lists the slowest tests and packages.
//
//	go test -race -json ./... | go run ./slowest -limit 60s
//
// The exit status comes from go test (set -o pipefail); slowest fails only if it cannot read the events.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	most := flag.Int("most", 30, "how many tests and packages to list")
	limit := flag.Duration("limit", time.Minute, "packages that take longer are named")
	flag.Parse()
	r := report{output: map[test][]string{}}
	if err := r.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
	r.print(os.Stdout, *most, *limit)
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

type test struct{ pkg, name string }

type timed struct {
	test
	took time.Duration
}

type report struct {
	output          map[test][]string // of top-level tests that have not ended, with that of their subtests
	tests, packages []timed
	cached          int
}

func (r *report) read(from io.Reader, to io.Writer) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(to, "%s", line) // what go itself says, e.g. of a module that it cannot load
			continue
		}
		r.take(e, to)
	}
}

func (r *report) take(e event, to io.Writer) {
	top, _, _ := strings.Cut(e.Test, "/")
	at := test{e.Package, top}
	switch {
	case e.Action == "build-output", e.Action == "output" && e.Test == "" && isResult(e.Output):
		if strings.Contains(e.Output, "(cached)") {
			r.cached++
		}
		fmt.Fprint(to, e.Output)
	case e.Action == "output":
		r.output[at] = append(r.output[at], e.Output)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test == top: // a top-level test, or the package itself
		if e.Action == "fail" {
			r.failed(at, to)
		}
		delete(r.output, at)
		took := timed{at, time.Duration(e.Elapsed * float64(time.Second))}
		if top == "" {
			r.packages = append(r.packages, took)
		} else {
			r.tests = append(r.tests, took)
		}
	}
}

// isResult reports whether it is the line of a package that passed, or has no tests.
func isResult(line string) bool {
	return strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "?  ") || strings.HasPrefix(line, "\t")
}

// failed prints the output of a failed test or, of a package, that of its tests that never ended.
func (r *report) failed(at test, to io.Writer) {
	for _, line := range r.output[at] {
		fmt.Fprint(to, line)
	}
	if at.name != "" {
		return
	}
	for other, lines := range r.output {
		if other.pkg == at.pkg && other.name != "" {
			fmt.Fprintf(to, "--- %s has not ended:\n%s", other.name, strings.Join(lines, ""))
			delete(r.output, other)
		}
	}
}

func (r *report) print(to io.Writer, most int, limit time.Duration) {
	fmt.Fprintf(to, "\nslowest tests (%d in all; %d of %d packages from Go's cache, with the times they took):\n",
		len(r.tests), r.cached, len(r.packages))
	list(to, r.tests, most)
	fmt.Fprintf(to, "slowest packages:\n")
	list(to, r.packages, most)
	for _, p := range r.packages {
		if p.took > limit {
			fmt.Fprintf(to, "OVER %v: %s\n", limit, p.pkg)
		}
	}
}

func list(to io.Writer, all []timed, most int) {
	slices.SortFunc(all, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	for _, one := range all[:min(most, len(all))] {
		fmt.Fprintf(to, "  %7.1f s  %s %s\n", one.took.Seconds(), one.pkg, one.name)
	}
}
