package detach

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// variable tells a process that `godwit local --detach` started it: it closes its output when it is ready.
const variable = "GODWIT_LOCAL_DETACHED"

// Flag is the flag that asks for it.
const Flag = "--detach"

// Start starts this command in a process of its own, with these arguments but for the Flag, and prints its exports when
// it is ready.
func Start(ctx context.Context, args []string, out, errOut io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "godwit-local-*.log")
	if err != nil {
		return fmt.Errorf("%s: create the log: %w", Flag, err)
	}
	defer log.Close()
	child := exec.Command(self, without(args, Flag)...)
	child.Env = append(os.Environ(), variable+"=1")
	child.Stderr = log
	child.SysProcAttr = ownSession()
	printed, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("%s: %w", Flag, err)
	}
	exports, err := readOrEnd(ctx, printed, child)
	if err != nil {
		return err
	}
	if len(exports) == 0 {
		_ = child.Wait() // its status says less than its log
		return failed(log.Name())
	}
	fmt.Fprintf(errOut, "process %d serves; its log is %s; `godwit local stop` ends it\n", child.Process.Pid, log.Name())
	_, err = out.Write(exports)
	return err
}

// without returns the arguments but for a flag without a value.
func without(args []string, flag string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == flag || strings.HasPrefix(arg, flag+"=")
	})
}

// readOrEnd reads what a process prints until it closes its output. If ctx ends before, it ends the process.
func readOrEnd(ctx context.Context, out io.Reader, child *exec.Cmd) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() {
		_ = child.Process.Kill() // the pipe then ends
	})
	defer stop()
	printed, err := io.ReadAll(out)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return printed, err
}

// failed returns the reason why a process ended at once, which is in its log.
func failed(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	_ = os.Remove(log)
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("godwit: ")))
	return fmt.Errorf("--detach: the server did not start: %s", text)
}

// Ready closes the output of a process that Start has started, and that is ready.
func Ready(out io.Writer) error {
	if os.Getenv(variable) == "" {
		return nil
	}
	if c, ok := out.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
