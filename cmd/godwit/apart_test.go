package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// actAsTest names the test that a process of the test binary runs.
const actAsTest = "GODWIT_ACT_AS_TEST"

// atOnce is how many tests run beside each other. They wait for most of their time, so there are more than processors.
const atOnce = 6

// apart runs a test that takes long in a process of its own, beside others. Commands read the environment and the
// working folder, of which a process has one each, so that tests cannot share it. It reports whether the test has run.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(actAsTest) == t.Name() {
		return false
	}
	t.Parallel()
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", fmt.Sprint("-test.short=", testing.Short())}
	if end, limited := t.Deadline(); limited {
		args = append(args, fmt.Sprint("-test.timeout=", time.Until(end)))
	}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsTest+"="+t.Name())
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil || !bytes.Contains(out, []byte("--- ")):
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name())):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return true
}

// runTests runs the tests, with as many at once as apart is for.
func runTests(m *testing.M) int {
	if err := flag.Set("test.parallel", fmt.Sprint(atOnce)); err != nil {
		panic(err)
	}
	return m.Run()
}
