package godwitlambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

const (
	// reserve is how long before the function's deadline no more handlers start. After the deadline Lambda stops the
	// process, and all messages of the event are delivered again, also those that are handled.
	reserve = 2 * time.Second
	// shutdown is the part of reserve in which the consumer ends. The rest is for the answer.
	shutdown = 1500 * time.Millisecond
)

// Handler handles events with messages of a channel's queue. Pass it to lambda.Start. It is safe for concurrent use.
type Handler struct {
	b        *snssqs.Backend
	channel  string
	o        godwit.ConsumerOptions
	log      *slog.Logger
	failures failures // of earlier events
	run      func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error)
}

// NewHandler checks the options and returns a handler of the channel's messages. With [godwit.ProvisionVerify] it also
// checks that the channel's resources exist; with the other modes it makes no request. Each event is one run of one
// consumer with these options, so the hooks Created, State and Shutdown are called for each event. An option that needs
// more than one event to have an effect is an error, with the setting that has the effect on Lambda.
func NewHandler(ctx context.Context, b *snssqs.Backend, channel string, h godwit.Handler, o *godwit.ConsumerOptions) (
	*Handler, error,
) {
	if h == nil {
		return nil, fmt.Errorf("godwitlambda: the handler of %s is nil", channel)
	}
	return newHandler(ctx, b, channel, o,
		func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error) { return c.Run(ctx, h) })
}

// NewBatchHandler is the same as NewHandler, with a handler of several messages at once.
func NewBatchHandler(ctx context.Context, b *snssqs.Backend, channel string, h godwit.BatchHandler,
	o *godwit.ConsumerOptions, batches *godwit.BatchOptions,
) (*Handler, error) {
	if h == nil {
		return nil, fmt.Errorf("godwitlambda: the batch handler of %s is nil", channel)
	}
	return newHandler(ctx, b, channel, o,
		func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error) {
			return c.RunBatches(ctx, h, batches)
		})
}

func newHandler(ctx context.Context, b *snssqs.Backend, channel string, o *godwit.ConsumerOptions,
	run func(context.Context, *godwit.Consumer) (godwit.Report, error),
) (*Handler, error) {
	if b == nil {
		return nil, errors.New("godwitlambda: the backend is nil: open one with snssqs.Open, and check its error")
	}
	f := &Handler{b: b, channel: channel, run: run, log: slog.Default()}
	f.o = *cmp.Or(o, &godwit.ConsumerOptions{})
	if f.o.Logger != nil {
		f.log = f.o.Logger
	}
	if err := polling(&f.o); err != nil {
		return nil, err
	}
	// A consumer that never runs checks the other options.
	unseen := f.o
	unseen.Hooks = godwit.Hooks{}
	var err error
	if f.o.Provision == godwit.ProvisionVerify {
		_, err = godwit.NewConsumer(ctx, b, channel, &unseen)
	} else {
		_, err = godwit.NewConsumer(ctx, b.Received("", nil), channel, &unseen)
	}
	if err != nil {
		return nil, err
	}
	f.o.ShutdownTimeout, f.o.SettleLinger, f.o.Provision = shutdown, -1, godwit.ProvisionNever
	if f.o.Policy == nil {
		f.o.Policy = godwit.RetryPolicy(f.o.MaxAttempts, f.o.Backoff)
		f.o.MaxAttempts, f.o.Backoff = 0, nil
	}
	f.o.Policy = f.failures.counted(f.o.Policy)
	return f, nil
}

// polling returns an error for options that are about polls, or about more than one event.
func polling(o *godwit.ConsumerOptions) error {
	for _, e := range []struct {
		name    string
		set     bool
		instead string
	}{
		{"BatchSize", o.BatchSize != 0, "set the batch size of the event source mapping"},
		{"WaitTime", o.WaitTime != 0, "set the batching window of the event source mapping"},
		{"Lease", o.Lease != 0, "set the visibility timeout of the queue"},
		{"ShutdownTimeout", o.ShutdownTimeout != 0, "set the timeout of the function"},
		{"SettleLinger", o.SettleLinger != 0, "Lambda deletes the messages together"},
		{"SaveRequests", o.SaveRequests, "set the batching window of the event source mapping"},
		{"MaxConcurrency", o.MaxConcurrency != 0, "set the maximum concurrency of the event source mapping"},
		{"DelayTolerance", o.DelayTolerance != 0, "Lambda decides how many functions run"},
		{"Rate", o.Rate != (godwit.Rate{}), "set the maximum concurrency of the event source mapping"},
		{"TenantRate", o.TenantRate != (godwit.Rate{}), "an event does not know of the events before it"},
		{"BreakAfter", o.BreakAfter != 0, "a function cannot stop Lambda's polls: retry with a long Backoff"},
		{"Delay", o.Delay != 0, "set the delay of the queue"},
		{"Encryption", o.Encryption != "", "set the key of the queue"},
		{"HighThroughput", o.HighThroughput, "set it on the queue"},
		{"Ownership", !reflect.ValueOf(o.Ownership).IsZero(), "tag the queue"},
	} {
		if e.set {
			return fmt.Errorf("%w: godwitlambda: ConsumerOptions.%s has no effect on Lambda: remove it; %s",
				godwit.ErrInvalid, e.name, e.instead)
		}
	}
	return nil
}

// Invoke handles the messages of one event, and returns which of them are to be delivered again. An error means all of
// them.
func (f *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	arn, ms, err := readEvent(payload)
	if err != nil {
		return nil, err
	}
	run, end := context.WithCancel(ctx)
	defer end()
	if deadline, limited := ctx.Deadline(); limited {
		if left := time.Until(deadline); left <= reserve {
			return nil, fmt.Errorf("godwitlambda: the function ends in %v, and the last %v are for the answer: raise the "+
				"function's timeout", left.Round(time.Millisecond), reserve)
		}
		run, end = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer end()
	}
	batch := f.b.Received(arn, ms)
	c, err := godwit.NewConsumer(ctx, batch, f.channel, &f.o)
	if err != nil {
		return nil, err
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-batch.Settled():
			end()
		case <-run.Done():
		}
	}()
	report, err := f.run(run, c)
	end()
	<-watched
	if err != nil && !batch.Opened() {
		return nil, fmt.Errorf("godwitlambda: no message of the event was handled: %w", err)
	}
	failed := batch.Unfinished()
	if err != nil {
		f.log.Error("the consumer could not continue; what is not finished is delivered again", "channel", f.channel,
			"error", err, "messages", len(ms), "unfinished", len(failed))
	}
	if report.StillRunning > 0 {
		f.log.Error("handlers have not returned although their context has ended; they go on during the next event",
			"channel", f.channel, "handlers", report.StillRunning)
	}
	return json.Marshal(newAnswer(failed))
}
