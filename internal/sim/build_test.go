package sim

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

var mustBeExact = flag.Bool("sim.exact", false, "fail if exact runs do not support this version of Go")

// patch replaces a text in one of our files, or of Go's own source. The file must have the text exactly once. The
// sources are not changed: the patched copies replace them in one build.
type patch struct {
	file     string // relative to the root of the repository, or with the prefix GOROOT/ to the toolchain's source
	old, new string
}

var errNotOnce = errors.New("the file does not have the text to replace exactly once")

// patched are patched files by their paths.
type patched map[string]string

// apply applies one patch.
func (f patched) apply(p patch, root, goroot string) error {
	path := filepath.Join(root, p.file)
	if rest, ok := strings.CutPrefix(p.file, "GOROOT/"); ok {
		path = filepath.Join(goroot, rest)
	}
	text, done := f[path]
	if !done {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = string(content)
	}
	if strings.Count(text, p.old) != 1 {
		return fmt.Errorf("%s: %w", p.file, errNotOnce)
	}
	f[path] = strings.Replace(text, p.old, p.new, 1)
	return nil
}

// builder builds the tests of this package from patched sources.
type builder struct {
	*testing.T
	root, goroot string
	dir          string // for copies of files, binaries, and the folders of processes
	runs         atomic.Int64
	exact        bool // exact runs support the toolchain
}

func newBuilder(t *testing.T) *builder {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{T: t, root: root, goroot: strings.TrimSpace(string(goroot)), exact: true}
	b.dir = filepath.Join(os.TempDir(), fmt.Sprintf("godwit-sim-%010d", rand.Uint32()))
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(b.dir) })
	if err := exactOn(b.goroot); err != nil {
		inexact(t, err)
		b.exact = false
	}
	return b
}

// exactOn returns an error if a toolchain's source cannot be patched for exact runs.
func exactOn(goroot string) error {
	files := patched{}
	for _, p := range exactly() {
		if err := files.apply(p, "", goroot); err != nil {
			return err
		}
	}
	return nil
}

// inexact reports that this version of Go is not supported. It fails the test if -sim.exact is set, and logs otherwise:
// the simulation still finds defects, but a seed does not repeat them.
func inexact(t *testing.T, why error) {
	t.Helper()
	text := fmt.Sprintf("exact runs do not support the runtime of %s (%v): "+
		"a seed fixes the plan, but not the order of goroutines. Adapt the patches in "+
		"internal/sim/exact_runtime_test.go to its source, or use the version of Go that CI uses", runtime.Version(),
		why)
	if *mustBeExact {
		t.Fatal(text)
	}
	t.Log(text)
	fmt.Println(text)
}

// The patches for exact runs fit this version of Go.
func TestExactRunsFit(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := exactOn(strings.TrimSpace(string(goroot))); err != nil {
		inexact(t, err)
	}
}

// A runtime that lacks one of the texts is not supported.
func TestAnotherRuntimeIsNotExact(t *testing.T) {
	goroot := t.TempDir()
	for _, p := range exactly() {
		path := filepath.Join(goroot, strings.TrimPrefix(p.file, "GOROOT/"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("package runtime\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := exactOn(goroot); !errors.Is(err, errNotOnce) {
		t.Errorf("patches for an empty runtime: %v, want %v", err, errNotOnce)
	}
}

// build builds the simulation with patches, and returns the path of the test binary.
func (b *builder) build(name string, patches ...patch) string {
	b.Helper()
	return b.buildPackage("./internal/sim", name, patches...)
}

// buildPackage builds a package's tests with patches, and returns the path of the binary.
func (b *builder) buildPackage(pkg, name string, patches ...patch) string {
	b.Helper()
	if b.exact {
		patches = append(exactly(), patches...)
	}
	files, replace := patched{}, map[string]string{}
	for i, p := range patches {
		if err := files.apply(p, b.root, b.goroot); err != nil {
			b.Fatalf("patch %d of %s: %v", i, name, err)
		}
	}
	for path, text := range files {
		copied := filepath.Join(b.dir, name+"-"+filepath.Base(path))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		replace[path] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		b.Fatal(err)
	}
	list, binary := filepath.Join(b.dir, name+".json"), filepath.Join(b.dir, name+".test")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-c", "-tags", "godwitstrict,synctests", "-overlay", list, "-o", binary, pkg)
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return binary
}
