//go:build unix

package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The entry point of the image starts the server by the sequence of Testcontainers' modules for LocalStack, and runs
// the scripts of LocalStack's folders in the order of their stages; SIGTERM stops it. No container runtime is needed.
func TestImageStarts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	entry, err := filepath.Abs("docker-entrypoint.sh")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "godwit")); err != nil {
		t.Fatal(err)
	}
	start := filepath.Join(dir, "testcontainers_start.sh")
	write("testcontainers_start.sh", "#!/bin/bash\nexec "+entry+" --console off\n")
	write("init/boot.d/queues.json", `{"queues": [{"name": "orders"}]}`)
	write("init/ready.d/first.sh", "#!/bin/sh\ngodwit local ping >&2 && echo \"found $AWS_DEFAULT_REGION\" >&2\n")

	cmd := exec.Command("sh", "-c", "while [ ! -f "+start+" ]; do sleep 0.1; done; exec "+start)
	cmd.Env = append(os.Environ(), actAsCommand+"=1", "PATH="+dir+":"+os.Getenv("PATH"),
		"GODWIT_INIT="+filepath.Join(dir, "init"), "GODWIT_ADDR=127.0.0.1:0")
	told, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()
	})
	var lines []string
	for s := bufio.NewScanner(told); s.Scan() && s.Text() != "Ready."; {
		lines = append(lines, s.Text())
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "found us-east-1") || strings.Contains(all, "failed") {
		t.Errorf("before it was ready: %s", all)
	}
	address := ""
	for s, found := bufio.NewScanner(out), false; !found && s.Scan(); {
		address, found = strings.CutPrefix(s.Text(), "export AWS_ENDPOINT_URL=")
	}
	resp, err := http.Get(address + "/_localstack/init/boot")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := make([]byte, 1<<10)
	n, _ := resp.Body.Read(body)
	if text := string(body[:n]); !strings.Contains(text, "queues.json") || !strings.Contains(text, "SUCCESSFUL") {
		t.Errorf("boot: %s", text)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
