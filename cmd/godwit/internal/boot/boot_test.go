//go:build unix

package boot_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/cmd/godwit/internal/boot"
)

// Seeds and scripts run in the order of their names, with the environment; one that fails is told, and the others run.
func TestAFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1.json": "{}", "2.sh": "#!/bin/sh\necho \"at $WHERE\"\n", "3.sh": "#!/bin/sh\nexit 3\n", "4.json": "{}",
		"5.txt": "",
	} {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var planted []string
	var start boot.Start
	start.Expect(dir)
	if all, ready := start.Scripts(); len(all) != 5 || all[0].State != boot.Waits || ready {
		t.Errorf("before the start: %v, ready %v", all, ready)
	}
	f := boot.Folder{
		Path: dir, Env: []string{"WHERE=home"}, Out: &out, Start: &start,
		Plant: func(_ context.Context, path string) error {
			planted = append(planted, filepath.Base(path))
			return nil
		},
	}
	err := f.Run(t.Context())
	for _, want := range []string{"3.sh: exit status 3", "5.txt: neither a seed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %s", err, want)
		}
	}
	if !slices.Equal(planted, []string{"1.json", "4.json"}) || !strings.Contains(out.String(), "at home\n") ||
		!strings.Contains(out.String(), "3.sh failed: exit status 3") {
		t.Errorf("planted %v, printed %q", planted, &out)
	}
	start.Ready()
	all, ready := start.Scripts()
	want := []boot.Script{
		{"READY", "1.json", boot.Done},
		{"READY", "2.sh", boot.Done},
		{"READY", "3.sh", boot.Failed},
		{"READY", "4.json", boot.Done},
		{"READY", "5.txt", boot.Failed},
	}
	if !slices.Equal(all, want) || !ready {
		t.Errorf("after the start: %v, ready %v", all, ready)
	}
	if err := (&boot.Folder{Path: filepath.Join(dir, "none")}).Run(t.Context()); err == nil {
		t.Error("a folder that does not exist is no error")
	}
}
