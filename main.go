package godwit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program until it ends or is told to, and returns its exit code, so that main is
//
//	os.Exit(godwit.Main(run))
//
// The first SIGINT or SIGTERM ends run's context, so that a consumer drains. A second one returns at once with 130; what
// is held then comes again when its lease ends. An error is printed to standard error and gives 1.
func Main(run func(ctx context.Context) error) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return runUntil(run, signals)
}

func runUntil(run func(ctx context.Context) error, signals <-chan os.Signal) int {
	const interrupted = 130 // what shells report of a program that SIGINT ended
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
