package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

const (
	// reserve is how long before the function's deadline a run ends. Alerts then need up to five seconds to note in the
	// state what was not told, so that the next run tells it; without that, it is told after 16 minutes.
	reserve = 10 * time.Second
	// shortest is the shortest time that is worth a run.
	shortest = 5 * time.Second
	// shortestSweep is the same for a sweep, which counts messages twice, a minute apart.
	shortestSweep = 90 * time.Second
)

// errDeadline is why a run ends early.
var errDeadline = errors.New("the function's timeout is near: raise it")

// function is what Lambda invokes. It is safe for concurrent use.
type function struct {
	out       io.Writer         // the log of the function
	aws       *aws.Config       // nil: the environment's
	transport http.RoundTripper // nil: the network
}

// Invoke does the run that the event names, and returns its report. What a run opens, it closes: between events, Lambda
// freezes the process.
func (f *function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	name, err := readEvent(payload)
	if err != nil {
		return nil, fmt.Errorf("godwit-lambda: %w", err)
	}
	report, err := f.do(ctx, name)
	if err == nil {
		return json.Marshal(report)
	}
	err = fmt.Errorf("godwit-lambda: run %s: %w", name, err)
	if report == nil {
		return nil, err
	}
	text, e := json.Marshal(report)
	_, w := fmt.Fprintf(f.out, "run %s has failed; its report is %s\n", name, text)
	return nil, errors.Join(err, e, w)
}

// do does a run. A report with an error says what was done before it; nil: there is none.
func (f *function) do(ctx context.Context, name string) (report any, err error) {
	s, err := readSettings(name)
	if err != nil {
		return nil, err
	}
	ctx, end, err := within(ctx, name)
	if err != nil {
		return nil, err
	}
	defer end()
	b, err := snssqs.Open(ctx, &snssqs.Options{Namespace: s.namespace, AWS: f.aws, Transport: f.transport})
	if err != nil {
		return nil, err
	}
	routes, release, err := s.notifiers.Open(ctx, b)
	if err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	routes = append([]ops.Route{{Name: "stdout", To: ops.NewWriterNotifier(f.out)}}, routes...)
	if name == runSweep {
		report, err = f.sweep(ctx, b, routes, s)
	} else {
		report, err = f.alerts(ctx, b, routes, s, lookOf(name))
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	closing := context.WithoutCancel(ctx)
	return report, errors.Join(err, release(closing), b.Close(closing))
}

// within ends a run before the function's deadline.
func within(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return ctx, func() {}, nil
	}
	needs := reserve + shortest
	if name == runSweep {
		needs = reserve + shortestSweep
	}
	if left := time.Until(deadline); left < needs {
		return nil, nil, fmt.Errorf("the function ends in %v, and this run needs %v or more: raise the timeout of the "+
			"function, to 300 s if channels are not thousands", left.Round(time.Millisecond), needs)
	}
	run, end := context.WithDeadlineCause(ctx, deadline.Add(-reserve), errDeadline)
	return run, end, nil
}
