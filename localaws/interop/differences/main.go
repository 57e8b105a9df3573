package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// atTimes ends the second field of a test whose outcome is not deterministic, for example because either of two polls
// may win.
const atTimes = ", at times"

// difference is one line of the list.
type difference struct{ name, whose, why string }

// results are the tests of a run, by outcome.
type results struct{ passed, failed, skipped []string }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: differences LIST OUTPUT-OF-GO-TEST-V")
		os.Exit(2)
	}
	complaints, summary, err := judge(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, c := range complaints {
		fmt.Println(c)
	}
	fmt.Println(summary)
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

func judge(listFile, outputFile string) (complaints []string, summary string, err error) {
	known, err := readList(listFile)
	if err != nil {
		return nil, "", err
	}
	run, err := readOutput(outputFile)
	if err != nil {
		return nil, "", err
	}
	complaints, asListed := compare(known, run)
	return complaints, fmt.Sprintf("%s: %d cases passed, %d differ as listed, %d could not be tried",
		listFile, len(run.passed), asListed, len(run.skipped)), nil
}

// compare returns the deviations from the list, and the number of tests that are as listed.
func compare(known []difference, run results) (complaints []string, asListed int) {
	seen := make([]bool, len(known))
	for _, name := range run.failed {
		i := slices.IndexFunc(known, func(d difference) bool { return d.name == name })
		if i < 0 {
			complaints = append(complaints, "fails and is not listed: "+name)
			continue
		}
		seen[i] = true
		asListed++
	}
	for i, d := range known {
		if !seen[i] && !strings.HasSuffix(d.whose, atTimes) {
			complaints = append(complaints, "is listed and does not fail: "+d.name)
		}
	}
	return complaints, asListed
}

func readList(file string) ([]difference, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var known []difference
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 || slices.Contains(fields, "") {
			return nil, fmt.Errorf("%s:%d: want a test's name, who has to fix it, and why, separated by tabs", file,
				n)
		}
		known = append(known, difference{fields[0], fields[1], fields[2]})
	}
	return known, lines.Err()
}

// readOutput reads the outcome of each test. An incomplete run is an error.
func readOutput(file string) (results, error) {
	f, err := os.Open(file)
	if err != nil {
		return results{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return results{}, err
	}
	if !regexp.MustCompile(`(?m)^(PASS|FAIL)$`).Match(text) || regexp.MustCompile(`(?m)^panic: `).Match(text) {
		return results{}, fmt.Errorf("%s: the run is incomplete", file)
	}
	ended := map[string]string{}
	end := regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (.+) \([0-9.]+s\)$`)
	for _, m := range end.FindAllStringSubmatch(string(text), -1) {
		ended[m[2]] = m[1]
	}
	return leaves(ended), nil
}

// leaves removes tests that only contain subtests.
func leaves(ended map[string]string) results {
	parents := map[string]bool{}
	for name := range ended {
		for i := range name {
			if name[i] == '/' {
				parents[name[:i]] = true
			}
		}
	}
	var r results
	for name, how := range ended {
		list := map[string]*[]string{"PASS": &r.passed, "FAIL": &r.failed, "SKIP": &r.skipped}[how]
		if !parents[name] {
			*list = append(*list, name)
		}
	}
	for _, list := range [][]string{r.passed, r.failed, r.skipped} {
		slices.Sort(list)
	}
	return r
}
