package main

import (
	"context"
	"io"
	"os"

	"github.com/godwitmq/godwit"
)

// Exit statuses. They are part of what scripts rely on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // the command was called wrongly; nothing was started
)

// main lets the first signal ask for a clean end; a second one ends us at once.
func main() {
	status := exitDone
	if code := godwit.Main(func(ctx context.Context) error {
		status = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		return nil // run has said what went wrong
	}); code != exitDone {
		os.Exit(code) // run has not returned: its status is not ours to read
	}
	os.Exit(status)
}

// run is the whole command without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	return exitStatus(root.ExecuteContext(ctx), errOut)
}
