package godwittest

import (
	"context"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

// Running is a running consumer or function, until [Running.Stop] or the end of the test.
type Running struct {
	h      *Harness
	what   string
	cancel context.CancelFunc
	done   chan struct{}
	report godwit.Report // read after done was closed, as is err
	err    error
	told   bool // the test has asked for the error
}

// Run runs a consumer, and returns when it has begun. If it ends with an error, the test fails, unless [Running.Wait]
// returns the error.
func (h *Harness) Run(c *godwit.Consumer, handler godwit.Handler) *Running {
	return h.start("the consumer of "+c.Channel(), 1,
		func(ctx context.Context) (godwit.Report, error) { return c.Run(ctx, handler) })
}

// RunAll runs a fleet, and returns when it has begun. Its reports go to the consumers' hooks, not to the Running.
func (h *Harness) RunAll(o *godwit.FleetOptions, as ...godwit.Assignment) *Running {
	return h.start("the fleet", len(as), func(ctx context.Context) (godwit.Report, error) {
		return godwit.Report{}, godwit.RunAll(ctx, o, as...)
	})
}

// Go runs a function until its context ends: for example the application itself, or a loop over deliveries. The name is
// for failures.
func (h *Harness) Go(name string, run func(ctx context.Context) error) *Running {
	return h.start(name, 0, func(ctx context.Context) (godwit.Report, error) { return godwit.Report{}, run(ctx) })
}

// start runs a function, and waits until it has opened a number of receivers or has ended; otherwise Advance could pass
// messages that they should receive.
func (h *Harness) start(what string, receivers int, run func(context.Context) (godwit.Report, error)) *Running {
	// Not the test's context, which ends before the harness stops its consumers in order.
	ctx, cancel := context.WithCancel(context.Background())
	r := &Running{h: h, what: what, cancel: cancel, done: make(chan struct{})}
	h.mu.Lock()
	h.running = append(h.running, r)
	h.mu.Unlock()
	gate := h.journal.gate
	receivers += gate.total(gate.receivers)
	go func() {
		defer close(r.done)
		r.report, r.err = run(ctx)
	}()
	h.await(h.grace(), func() bool { return r.ended() || gate.total(gate.receivers) >= receivers })
	return r
}

// Stop ends it as a deployment does, waits until it has returned, and returns its report. An error fails the test.
func (r *Running) Stop() godwit.Report {
	r.h.t.Helper()
	r.cancel()
	r.finish()
	return r.report
}

// Wait waits until it ends by itself, and returns its result. An error does not fail the test.
func (r *Running) Wait() (godwit.Report, error) {
	r.h.t.Helper()
	r.told = true
	if !r.returned() {
		r.h.t.Fatalf("%s should have ended by itself, but still runs after %v\n%s", r.what, r.h.patience, r.h.picture())
	}
	r.finish()
	return r.report, r.err
}

// finish waits for the end, and fails the test for an error that the test has not asked for. It may be called again.
func (r *Running) finish() {
	r.h.t.Helper()
	if !r.returned() {
		r.h.t.Errorf("%s was stopped %v ago and has not returned\n%s", r.what, r.h.patience, r.h.picture())
		return
	}
	if r.err != nil && !r.told {
		r.h.t.Errorf("%s ended with an error: %v", r.what, r.err)
	}
	if n := r.report.StillRunning; n > 0 && !r.told {
		r.h.t.Errorf("%s returned while %d of its handlers still run: they ignore the end of their context\n%s", r.what,
			n,
			strings.Join(r.h.journal.handling(), "\n"))
	}
	r.told = true
}

func (r *Running) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// returned waits for the end, at most for the harness's patience.
func (r *Running) returned() bool {
	timer := time.NewTimer(r.h.patience)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}
