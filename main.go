package godwit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program until it ends or gets a signal, and returns its exit code. Use it as
//
//	os.Exit(godwit.Main(run))
//
// The first SIGINT or SIGTERM cancels run's context, so that consumers stop gracefully. After a second one, Main
// returns 130 at once; messages that are then held are delivered again when their leases end. If run returns an error,
// Main prints it to standard error and returns 1.
func Main(run func(ctx context.Context) error) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return runUntil(run, signals)
}

func runUntil(run func(ctx context.Context) error, signals <-chan os.Signal) int {
	const interrupted = 130 // the exit code that shells use after SIGINT
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	told := false
	for {
		select {
		case s := <-signals:
			if told {
				return interrupted
			}
			told = true
			cancel(fmt.Errorf("received %v", s))
		case err := <-done:
			if err != nil && !(told && errors.Is(err, context.Canceled)) {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
}
