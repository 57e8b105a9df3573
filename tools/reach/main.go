// Command reach measures how much of the code one has to know for one thing. It prints how many functions of some
// packages a function reaches by calls, and the longest chain of calls among them. Calls through closures and
// interfaces are followed; a new goroutine begins a new chain.
//
//	go -C tools run ./reach -dir .. -from 'internal/engine.(*runner).work' ./internal/engine .
//
// With -check it compares the figures of the house with their ceilings in a file, which explains itself, and with the
// table of a page. With -write it lowers the ceilings, and writes the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "the module's folder")
	from := flag.String("from", "", "the function to measure, with its package's path inside the module")
	list := flag.Bool("list", false, "also list the functions, and one of the longest chains")
	check := flag.String("check", "", "the file of ceilings to compare all figures with")
	page := flag.String("page", "", "with -check: the page that has the figures")
	write := flag.Bool("write", false, "with -check: write the page, and lower the ceilings to the figures")
	flag.Parse()
	var err error
	switch {
	case *check != "":
		err = compare(*dir, *check, *page, *write)
	case *from != "" && flag.NArg() > 0:
		err = measure(*dir, *from, flag.Args(), *list)
	default:
		err = errors.New("reach needs -check, or -from and the packages to follow calls in: see its documentation")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure prints the figures of one function.
func measure(dir, from string, inside []string, list bool) error {
	p, err := load(dir, inside)
	if err != nil {
		return err
	}
	r, err := p.reach(from, inside)
	if err != nil {
		return err
	}
	fmt.Printf("%s reaches %d functions, in chains of up to %d\n", from, len(r.functions), r.longest)
	for _, ring := range r.rings {
		fmt.Printf("functions that call each other: %s\n", strings.Join(ring, ", "))
	}
	if list {
		fmt.Println("a longest chain:", strings.Join(r.chain, " → "))
		fmt.Println(strings.Join(r.functions, "\n"))
	}
	return nil
}
