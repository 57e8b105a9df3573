package house

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// Every package is in a part, and every part exists, so that the gate knows which long steps a change affects. A new
// folder at the root needs a line of its own: the root's line covers only the root's own files.
func TestEveryPackageIsInAPart(t *testing.T) {
	text, err := os.ReadFile("parts.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"interop", "kafka", "dashboards", "exports", "browser"}
	parts := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		name := fields[0]
		if parts[name] {
			t.Errorf("parts.txt has %s twice", name)
		}
		parts[name] = true
		if _, err := os.Stat(path.Join("../..", name)); err != nil {
			t.Errorf("parts.txt has %s, which does not exist: %v", name, err)
		}
		if len(fields) == 1 {
			t.Errorf("parts.txt names no step for %s: write none", name)
		}
		for _, step := range fields[1:] {
			if step != "none" && !slices.Contains(known, step) || step == "none" && len(fields) > 2 {
				t.Errorf("parts.txt has the step %q for %s; the steps are %q, or none", step, name, known)
			}
		}
	}
	sources, err := inspect(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		at := s.path
		for at != "." && !parts[at] {
			at = path.Dir(at)
		}
		if at == "." && s.path != "." {
			t.Errorf("package %s is in no part: add its folder to parts.txt, with the steps that meet it directly", s.path)
		}
	}
}
