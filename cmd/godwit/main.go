package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
)

// Exit statuses, on which scripts rely.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2 // wrong usage; nothing was started
	exitNothing = 3 // the channel does not exist, or nothing was selected
	exitWrong   = 4 // godwit doctor has found something, godwit plan a difference; it was too late
	exitPart    = 5 // a part was refused, or could not be seen
	// exitInterrupted is for work that an interrupt has ended, as shells have it. A command that has no end by itself
	// is done then.
	exitInterrupted = 130
)

// main handles the first signal as a request to stop; a second one ends the process at once.
func main() {
	status := exitDone
	// Without this, a pipe that nobody reads any more would kill the process, whatever it is doing.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if code := godwit.Main(func(ctx context.Context) error {
		status = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		return nil // run has printed the error
	}); code != exitDone {
		os.Exit(code) // run has not returned, so it has no status
	}
	os.Exit(status)
}

// commandLine is the key of the command's arguments in its context.
type commandLine struct{}

// arguments returns the command's arguments.
func arguments(ctx context.Context) []string {
	args, _ := ctx.Value(commandLine{}).([]string)
	return args
}

// run is the whole command without the process, so that tests can call it.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	signals := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var gone atomic.Bool // nobody reads the result any more: head has seen enough
	out = &screen.Writer{To: out, Gone: func() {
		gone.Store(true)
		stop()
	}}
	errOut = &screen.Writer{To: errOut}
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(context.WithValue(ctx, commandLine{}, args))
	if gone.Load() && (errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled)) {
		return exitDone
	}
	status := exitStatus(err, errOut)
	if signals.Err() != nil && (errors.Is(err, context.Cause(signals)) || errors.Is(err, context.Canceled)) {
		return exitInterrupted
	}
	return status
}
