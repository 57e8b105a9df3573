package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses. They are part of what scripts rely on.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // the command was called wrongly; nothing was started
)

func main() {
	// The first signal asks for a clean end; it also gives signals back their default, so that a second one ends us at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole command without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	return exitStatus(root.ExecuteContext(ctx), errOut)
}
