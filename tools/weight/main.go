// Command weight tells which modules make the command godwit as large as it is. It builds the command for Linux, and
// adds up the code of the functions of each module: the rest of a binary (tables of lines, types, texts) grows with it.
// It also builds the command without the web page, and measures how long a start takes.
//
//	go -C tools run ./weight -dir .. -page ../docs/benchmarks.md
//
// It fails where the page is wrong by more than a tenth, or the command without the page is above its ceiling. With
// -write it writes the page.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// most is how many megabytes the command without the web page may have.
	most = 38.0
	// soonest is how long the fastest of many starts may take.
	soonest = 30 * time.Millisecond
	starts  = 20
	// listedFrom is the code of a module in megabytes from which it has a line of its own.
	listedFrom = 0.25
	// begin and end are around what is written into the page.
	begin, end = "<!-- begin of what tools/weight writes -->\n", "<!-- end of what tools/weight writes -->"
)

func main() {
	dir := flag.String("dir", ".", "the module's folder")
	page := flag.String("page", "", "the page that has the table")
	write := flag.Bool("write", false, "write the page")
	flag.Parse()
	if err := run(*dir, *page, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, page string, write bool) error {
	w, err := weigh(dir)
	if err != nil {
		return err
	}
	text := w.text()
	fmt.Print(text)
	fmt.Printf("it starts in %v\n", w.start.Round(time.Millisecond))
	if w.start > soonest {
		return fmt.Errorf("the command needs %v to start, and may need %v: look at what is done before main", w.start, soonest)
	}
	if w.without > most {
		return fmt.Errorf("the command without its page has %.1f MB, and may have %.0f: find what has grown in the table",
			w.without, most)
	}
	if page == "" {
		return nil
	}
	was, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(was, []byte(begin))
	old, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table: add %q and %q", page, begin, end)
	}
	if write {
		return os.WriteFile(page, slices.Concat(before, []byte(begin+text+end), after), 0o644)
	}
	return compare(string(old), text)
}

// weight is the size of the command, in megabytes (10^6 bytes).
type weight struct {
	full, without float64
	start         time.Duration // of the fastest of many runs of its smallest command; 0: it does not run here
	modules       []module
}

type module struct {
	name string
	code float64
}

func weigh(dir string) (*weight, error) {
	tmp, err := os.MkdirTemp("", "weight")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	overlay, err := withoutPage(dir, tmp)
	if err != nil {
		return nil, err
	}
	w := &weight{}
	symbols := filepath.Join(tmp, "symbols")
	for _, b := range []struct {
		name  string
		flags []string
		size  *float64
	}{
		{"symbols", nil, new(float64)},
		{"stripped", []string{"-ldflags=-s -w"}, &w.full},
		{"without", []string{"-ldflags=-s -w", "-overlay=" + overlay}, &w.without},
	} {
		file := filepath.Join(tmp, b.name)
		args := slices.Concat([]string{"build", "-trimpath", "-o", file}, b.flags, []string{"./cmd/godwit"})
		if _, err := goCommand(dir, args...); err != nil {
			return nil, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		*b.size = float64(info.Size()) / 1e6
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		for range starts {
			begun := time.Now()
			if err := exec.Command(filepath.Join(tmp, "stripped"), "version").Run(); err != nil {
				return nil, err
			}
			if took := time.Since(begun); w.start == 0 || took < w.start {
				w.start = took
			}
		}
	}
	w.modules, err = modules(dir, symbols)
	return w, err
}

// withoutPage writes an overlay in which package console has its options and nothing behind them.
func withoutPage(dir, tmp string) (overlay string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "console", "*.go"))
	if err != nil {
		return "", err
	}
	stub := filepath.Join(tmp, "stub.go")
	if err := os.WriteFile(stub, []byte(noConsole), 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		if base := filepath.Base(file); base != "options.go" {
			replace[path] = ""
			if base == "console.go" {
				replace[path] = stub
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(tmp, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

const noConsole = `package console

import (
	"context"
	"net/http"

	"github.com/godwitmq/godwit/driver"
)

type Console struct{}

func New(driver.Backend, *Options) (*Console, error)             { return nil, nil }
func (*Console) ServeHTTP(http.ResponseWriter, *http.Request)    {}
func (*Console) Close(context.Context) error                     { return nil }
`

// goCommand runs the go command for Linux without C, so that the numbers do not depend on the machine.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, exit.Stderr)
	}
	return out, err
}

// modules adds up the code of functions by module.
func modules(dir, binary string) (all []module, err error) {
	listed, err := goCommand(dir, "list", "-deps", "-f",
		"{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}the standard library{{end}}", "./cmd/godwit")
	if err != nil {
		return nil, err
	}
	of := map[string]string{"main": "github.com/godwitmq/godwit"}
	for line := range strings.Lines(string(listed)) {
		path, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		of[path] = name
	}
	f, err := elf.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	sums := map[string]uint64{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			sums[moduleOf(of, s.Name)] += s.Size
		}
	}
	for name, size := range sums {
		all = append(all, module{name, float64(size) / 1e6})
	}
	slices.SortFunc(all, func(a, b module) int {
		if a.code != b.code {
			return int(math.Copysign(1, b.code-a.code))
		}
		return strings.Compare(a.name, b.name)
	})
	return all, nil
}

// moduleOf is the module of a function by its symbol: of the longest package whose path the symbol begins with.
func moduleOf(of map[string]string, symbol string) string {
	symbol = strings.ReplaceAll(strings.TrimPrefix(symbol, "type:.eq."), "%2e", ".")
	for end := len(symbol); end > 0; end = strings.LastIndexAny(symbol[:end], "./") {
		if name, ok := of[symbol[:end]]; ok {
			return name
		}
	}
	return "the standard library" // the runtime in assembly
}

func (w *weight) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The stripped command for Linux has %.1f MB, and %.1f MB without the web page.\n\n", w.full, w.without)
	b.WriteString("| module | code, MB |\n|---|---|\n")
	others, sum := 0, 0.0
	for _, m := range w.modules {
		if m.code < listedFrom {
			others++
			sum += m.code
			continue
		}
		fmt.Fprintf(&b, "| %s | %.1f |\n", m.name, m.code)
	}
	fmt.Fprintf(&b, "| %d others | %.1f |\n", others, sum)
	return b.String()
}

var number = regexp.MustCompile(`\d+\.\d`)

// compare compares the numbers of the page with those of today.
func compare(page, now string) error {
	a, b := strings.Split(strings.TrimSpace(page), "\n"), strings.Split(strings.TrimSpace(now), "\n")
	wrong := len(a) != len(b)
	for i := 0; i < len(a) && !wrong; i++ {
		x, y := number.FindAllString(a[i], -1), number.FindAllString(b[i], -1)
		wrong = len(x) != len(y)
		for k := 0; k < len(x) && !wrong; k++ {
			was, _ := strconv.ParseFloat(x[k], 64)
			is, _ := strconv.ParseFloat(y[k], 64)
			wrong = math.Abs(was-is) > max(0.15, was/10)
		}
	}
	if wrong {
		return errors.New("the page has other numbers: write it with .ci/weight -write")
	}
	return nil
}
