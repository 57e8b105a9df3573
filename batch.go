package godwit

import (
	"context"
	"errors"
	"time"
)

// Defaults and limits of BatchOptions.
const (
	defaultBatchSize = 100
	maxBatchSize     = 10_000
	maxBatchWindow   = 5 * time.Minute
)

// BatchHandler handles several deliveries at once. nil means that all of them are done; a *[HandleBatchError] says
// which failed, by their index, and the others are done. Any other error means that all of them failed, and so does a
// *HandleBatchError that another error wraps, that names no delivery, or that names one the batch does not have. Each
// delivery that failed goes through the consumer's [Policy] by itself; its own methods (Retry, Reject, …) count more
// than the answer.
//
// Deliveries of one lane come one after another in a batch. When one of them fails, those behind it count as not
// handled, whatever became of them: they come again after it.
//
// The context is cancelled for all of them together, when the processing timeout of the batch passes, shutdown runs out
// of time, or the leases of all are lost.
type BatchHandler func(ctx context.Context, ds []*Delivery) error

// BatchOptions say how deliveries are gathered into batches. The zero value is good for most.
type BatchOptions struct {
	// Size is how many deliveries a batch has at most; 0: 100. Set it to the number that the handler handles best at
	// once.
	Size int
	// Window is how long a batch that is not full waits for more deliveries, up to 5 min; 0: a batch is what is there.
	// Set it when a larger batch is worth the delay.
	Window time.Duration
	// Middleware runs around the handler; the first is outermost. Set it instead of ConsumerOptions.Middleware, which
	// is for handlers of single deliveries and cannot be used with batches.
	Middleware []func(BatchHandler) BatchHandler
}

// RunBatches is [Consumer.Run] with a handler of batches: up to Concurrency of them run at once.
func (c *Consumer) RunBatches(ctx context.Context, h BatchHandler, o *BatchOptions) (Report, error) {
	return c.runAlone(ctx, c.WithBatches(h, o))
}

// WithBatches assigns a handler of batches to the consumer, for [RunAll]. A batch counts as one handler.
func (c *Consumer) WithBatches(h BatchHandler, o *BatchOptions) Assignment {
	b := &batching{}
	if o != nil {
		b.BatchOptions = *o
	}
	setDefault(&b.Size, defaultBatchSize)
	for i := len(b.Middleware) - 1; h != nil && i >= 0; i-- {
		if m := b.Middleware[i]; m != nil { // which check refuses
			h = m(h)
		}
	}
	b.handler = h
	return Assignment{consumer: c, batching: b, weight: 1}
}

// HandleBatch makes a BatchHandler of a function of decoded bodies. What cannot be decoded is dead-lettered with its
// raw bytes; f gets the others, and the indexes of the *[HandleBatchError] it returns are those of its slice.
func HandleBatch[T any](c Codec, f func(ctx context.Context, ds []Typed[T]) error) BatchHandler {
	if c == nil || f == nil {
		return nil // which RunBatches refuses
	}
	return func(ctx context.Context, ds []*Delivery) error {
		failed := &HandleBatchError{Errs: map[int]error{}}
		typed := make([]Typed[T], 0, len(ds))
		at := make([]int, 0, len(ds)) // where each of typed stands in ds
		var last *Delivery            // that could not be decoded
		for i, d := range ds {
			if d.behind(last) { // it comes again once that one is dead-lettered
				last = d
				continue
			}
			t, err := decode[T](c, d)
			if err != nil {
				failed.Errs[i], last = Permanent(err), d
				continue
			}
			typed, at = append(typed, t), append(at, i)
		}
		if len(typed) > 0 {
			for i, err := range entryErrors(f(ctx, typed), len(typed)) {
				failed.Errs[at[i]] = err
			}
		}
		if len(failed.Errs) == 0 {
			return nil
		}
		return failed
	}
}

// entryErrors spells a batch handler's error out: the errors of the entries that failed, by their index. Only the
// handler's own answer can say that some were handled: an error inside another one may be about something else.
func entryErrors(err error, n int) map[int]error {
	if err == nil {
		return nil
	}
	if partial, ok := err.(*HandleBatchError); ok { //nolint:errorlint // a wrapped one is not the handler's own answer
		if err = partial.check(n); err == nil {
			return partial.Errs
		}
	}
	all := make(map[int]error, n)
	for i := range n {
		all[i] = err
	}
	return all
}

// batching is how a session gathers and handles batches.
type batching struct {
	BatchOptions
	handler BatchHandler
}

func (b *batching) check(consumer string) error {
	return errors.Join(
		eachSet("BatchOptions.Middleware of "+consumer, b.Middleware),
		within("BatchOptions.Size of "+consumer, b.Size, 1, maxBatchSize),
		within("BatchOptions.Window of "+consumer, b.Window, 0, maxBatchWindow),
	)
}

// callBatch runs the handler; a panic is the error of all.
func callBatch(ctx context.Context, h BatchHandler, ds []*Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()
	return h(ctx, ds)
}
