package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
)

// commandsIn are the lists in a document that begin with the command's name.
func commandsIn(v any) (all [][]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			all = append(all, commandsIn(below)...)
		}
	case []any:
		var args []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				args = append(args, text)
			}
			all = append(all, commandsIn(one)...)
		}
		if len(args) == len(v) && len(args) > 0 && args[0] == "godwit" {
			all = append(all, args[1:])
		}
	}
	return all
}

// deployed are the command lines in one file of docs/deploy.
func deployed(t *testing.T, file string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(file) {
	case ".yaml", ".json": // JSON is YAML
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var v any
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) {
				return all
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, commandsIn(v)...)
		}
	case ".Dockerfile":
		for line := range strings.Lines(string(text)) {
			if list, ok := strings.CutPrefix(line, "CMD "); ok {
				var args []any
				if err := json.Unmarshal([]byte(list), &args); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				all = append(all, commandsIn(args)...)
			}
		}
	case ".service":
		for line := range strings.Lines(strings.ReplaceAll(string(text), "%i", "orders")) {
			if start, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/godwit "); ok {
				all = append(all, strings.Fields(start))
			}
		}
	default:
		t.Fatalf("%s: the test does not know such files", file)
	}
	return all
}

// The examples for systemd, Docker, Kubernetes and ECS can be read, and their commands, flags and arguments exist.
func TestDeployExamples(t *testing.T) {
	files, err := filepath.Glob("../../docs/deploy/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		commands := deployed(t, file)
		if len(commands) == 0 {
			t.Errorf("%s has no command", file)
		}
		for _, args := range commands {
			cmd, rest, err := newRoot().Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil || !cmd.HasParent() {
				t.Errorf("%s: godwit %s: %v", file, strings.Join(args, " "), err)
			}
		}
	}
}

// Each command has a manual page with all of its flags, which man reads without a complaint where it is installed.
func TestManual(t *testing.T) {
	folder := t.TempDir()
	if _, errOut, status := call(t, "man", folder); status != exitDone || !strings.Contains(errOut, "pages are in") {
		t.Fatalf("status %d: %s", status, errOut)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "godwit-rm.1"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "man-rm", string(text))
	tail := newTail()
	for _, flag := range []string{"since", "id", "most", "routing-prefix", "bucket"} {
		if !strings.Contains(manual.Page(tail), `\-\-`+strings.ReplaceAll(flag, "-", `\-`)) {
			t.Errorf("the page of tail has no --%s", flag)
		}
	}
	if _, _, status := call(t, "man"); status != exitUsage {
		t.Errorf("without a folder: status %d", status)
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		return
	}
	lint := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "error"}, pages...)...)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
