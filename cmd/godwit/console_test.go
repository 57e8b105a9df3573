package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godwitmq/godwit/localaws"
)

// The command prints its address, and serves pages until it is interrupted; people of a file sign in.
func TestConsole(t *testing.T) {
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://" + addr.String(), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local",
	} {
		t.Setenv(name, value)
	}
	users := filepath.Join(t.TempDir(), "users.txt")
	if err := os.WriteFile(users, []byte("# people\nada act password correct-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read, printed := io.Pipe()
	var errOut bytes.Buffer
	status := -1
	var running sync.WaitGroup
	running.Go(func() {
		status = run(ctx, []string{"console", "--auth", users, "--name", "shop"}, printed, &errOut)
		_ = printed.Close() // it ends a read below
	})
	url, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		cancel()
		running.Wait()
		t.Fatalf("%v: %s", err, &errOut)
	}
	for password, want := range map[string]int{
		"correct-horse":  http.StatusOK,
		"battery-staple": http.StatusUnauthorized,
	} {
		r, err := http.NewRequestWithContext(ctx, "GET", strings.TrimSpace(url), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("ada", password)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want || want == http.StatusOK && !strings.Contains(string(page), "ada, act") {
			t.Errorf("%s: %d, %s", password, answer.StatusCode, page)
		}
	}
	cancel()
	running.Wait()
	if status != exitDone {
		t.Errorf("status %d: %s", status, &errOut)
	}
}

// What would serve strangers, or means nothing, is wrong usage.
func TestConsoleUsage(t *testing.T) {
	folder := t.TempDir()
	file := func(text string) string {
		f, err := os.CreateTemp(folder, "users")
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	for want, args := range map[string][]string{
		"serves other machines":         {"--listen", ":8080"},
		"serves other machines, and no": {"--listen", "192.0.2.1:8080"},
		"not of the form host:port":     {"--listen", "8080"},
		"--level is \"all\"":            {"--level", "all"},
		"without --auth-proxy":          {"--auth-proxy-from", "10.0.0.1"},
		"use an address, or a range":    {"--auth-proxy", "X-User", "--auth-proxy-from", "ten"},
		"--auth: open":                  {"--auth", filepath.Join(folder, "none")},
		"it has no lines":               {"--auth", file("# nobody\n")},
		"line 1: write a name":          {"--auth", file("ada act")},
		"line 2: \"secret\" is neither": {"--auth", file("\nada act secret x")},
		"line 1 is \"boss\"":            {"--auth", file("ada boss password x")},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), append([]string{"console"}, args...), &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%q: status %d, %s; want %q", args, status, &errOut, want)
		}
	}
	for _, args := range [][]string{{"local", "--console", ":80"}, {"demo", "--console", "nowhere"}} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), args, &out, &errOut); status != exitUsage {
			t.Errorf("%q: status %d, %s", args, status, &errOut)
		}
	}
}
