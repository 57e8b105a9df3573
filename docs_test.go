package godwit

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

// page returns docs/consumer.md.
func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("docs/consumer.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The diagram of states in docs/consumer.md has exactly the changes of the table.
func TestTheDiagramOfStatesMatches(t *testing.T) {
	var drawn, listed []string
	for _, m := range regexp.MustCompile(`(?m)^ +([\w\[\]*]+) --> ([\w\[\]*]+)`).FindAllStringSubmatch(page(t), -1) {
		drawn = append(drawn, m[1]+" → "+m[2])
	}
	listed = append(listed, "[*] → "+State(0).String())
	for from, all := range transitions {
		for _, to := range all {
			listed = append(listed, State(from).String()+" → "+to.String())
		}
		if len(all) == 0 {
			listed = append(listed, State(from).String()+" → [*]")
		}
	}
	slices.Sort(drawn)
	slices.Sort(listed)
	if diff := cmp.Diff(listed, drawn); diff != "" {
		t.Errorf("docs/consumer.md and the table of state.go (-table +page):\n%s", diff)
	}
}

// The table of options in docs/consumer.md has every option, with its default and limits.
func TestTheTableOfOptionsMatches(t *testing.T) {
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| ([^|]+) \\|").FindAllStringSubmatch(page(t),
		-1) {
		rows[m[1]] = m[2:]
	}
	fields := reflect.VisibleFields(reflect.TypeFor[ConsumerOptions]())
	var declared, listed []string
	for _, f := range fields {
		declared = append(declared, f.Name)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(page(t), -1) {
		listed = append(listed, m[1])
	}
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("the tables of docs/consumer.md are not in the order of ConsumerOptions (-struct +page):\n%s", diff)
	}
	var defaults ConsumerOptions
	if err := complete(&defaults); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		row := rows[f.Name]
		delete(rows, f.Name)
		if row == nil {
			t.Errorf("docs/consumer.md has no row for %s", f.Name)
			continue
		}
		v := reflect.ValueOf(defaults).FieldByName(f.Name)
		if !v.CanInt() {
			continue
		}
		is := v.Int()
		if want, ok := quantity(row[0]); ok && is != want || !ok && is != 0 {
			t.Errorf("the default of %s is %d; docs/consumer.md says %s", f.Name, is, row[0])
		}
		low, high, _ := strings.Cut(row[1], "to ")
		checkLimit(t, f.Name, low, -1)
		checkLimit(t, f.Name, high, +1)
	}
	for name := range rows {
		t.Errorf("docs/consumer.md has a row for %s, which is not an option", name)
	}
}

// checkLimit sets an option to a limit, which must be accepted, and to a value beyond it, which must be an error.
func checkLimit(t *testing.T, field, text string, beyond int64) {
	t.Helper()
	limit, ok := quantity(text)
	if !ok {
		return
	}
	try := func(v int64) bool {
		var o ConsumerOptions
		reflect.ValueOf(&o).Elem().FieldByName(field).SetInt(v)
		err := complete(&o)
		return err == nil || !strings.Contains(err.Error(), "ConsumerOptions."+field+" ")
	}
	if !try(limit) {
		t.Errorf("%s of %s is an error, and docs/consumer.md says that it is a limit", field, text)
	}
	if limit+beyond != 0 && try(limit+beyond) { // zero is the default
		t.Errorf("%s beyond %s is accepted, and docs/consumer.md says that it is a limit", field, text)
	}
}

func complete(o *ConsumerOptions) error { return o.complete(driver.Channel{Queue: "orders"}) }

// quantity parses the number, size or duration at the beginning of a cell.
func quantity(cell string) (int64, bool) {
	first, rest, _ := strings.Cut(strings.TrimSpace(cell), " ")
	if d, err := time.ParseDuration(first); err == nil {
		return int64(d), true
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(first, ",", ""), 10, 64)
	if strings.HasPrefix(rest, "MiB") {
		n <<= 20
	}
	return n, err == nil
}

// All code of the package comment is in an Example, or in a test of godwittest: the lines of each block are lines of
// one function, in the same order, so they compile and do what the comment says.
func TestTheCodeOfTheTourIsRun(t *testing.T) {
	files, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var functions [][]string // the lines of each
	for _, name := range append(files, "godwittest/testing_test.go") {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for f := range strings.SplitSeq(string(source), "\nfunc ") {
			functions = append(functions, trimmedLines(f))
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		code, ok := block.(*comment.Code)
		if !ok {
			continue
		}
		blocks++
		want := trimmedLines(code.Text)
		if !slices.ContainsFunc(functions, func(have []string) bool { return isSubsequence(want, have) }) {
			t.Errorf("no Example contains these lines of doc.go:\n%s", code.Text)
		}
	}
	if blocks < 10 {
		t.Errorf("found %d blocks of code in doc.go: the test finds too little", blocks)
	}
}

// trimmedLines returns the lines of a text that are not empty, without indentation and trailing comments.
func trimmedLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " // ")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// isSubsequence says whether all of want are in have, in the same order.
func isSubsequence(want, have []string) bool {
	for _, line := range have {
		if len(want) > 0 && line == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
