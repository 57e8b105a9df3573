package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// detachedVariable tells a process that `godwit local --detach` started it: it closes its output when it is ready.
const detachedVariable = "GODWIT_LOCAL_DETACHED"

// detach starts the same command without --detach in a process of its own, and prints its exports when it is ready.
func detach(cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "godwit-local-*.log")
	if err != nil {
		return fmt.Errorf("--detach: create the log: %w", err)
	}
	defer log.Close()
	child := exec.Command(self, argsWithout(cmd.Context(), "--detach")...)
	child.Env = append(os.Environ(), detachedVariable+"=1")
	child.Stderr = log
	child.SysProcAttr = ownSession()
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	exports, err := readOrEnd(cmd.Context(), out, child)
	if err != nil {
		return err
	}
	if len(exports) == 0 {
		_ = child.Wait() // its status says less than its log
		return detachFailed(log.Name())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "process %d serves; its log is %s; `godwit local stop` ends it\n", child.Process.Pid,
		log.Name())
	_, err = cmd.OutOrStdout().Write(exports)
	return err
}

// commandLine is the key of the command's arguments in its context.
type commandLine struct{}

// argsWithout returns the arguments of the command, but for a flag without a value.
func argsWithout(ctx context.Context, flag string) []string {
	args, _ := ctx.Value(commandLine{}).([]string)
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

// detachFailed returns the reason why a process ended at once, which is in its log.
func detachFailed(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	_ = os.Remove(log)
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("godwit: ")))
	return fmt.Errorf("--detach: the server did not start: %s", text)
}

// closeDetached closes the output of a process that was started by --detach, whose parent waits for that.
func closeDetached(out io.Writer) error {
	if os.Getenv(detachedVariable) == "" {
		return nil
	}
	if c, ok := out.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
