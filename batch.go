package godwit

import (
	"cmp"
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

// BatchHandler handles several deliveries with one call. If it returns nil, all of them are done. If it returns a
// *[HandleBatchError], the deliveries that the error names, by their index, have failed, and the others are done. Any
// other error means that all have failed, and so does a *HandleBatchError that is wrapped in another error, names no
// delivery, or names one that is not in the batch. The consumer's [Policy] decides about each failed delivery. A
// delivery's own methods (Retry, Reject, …) take precedence over the returned error.
//
// Deliveries of one lane are in order in a batch. If one of them fails, those after it count as not handled, whatever
// the handler did with them and whatever the policy decides about it, and they are delivered again after it.
//
// The context is canceled for the whole batch, when its processing timeout passes, when a shutdown runs out of time, or
// when all deliveries have lost their leases.
type BatchHandler func(ctx context.Context, ds []*Delivery) error

// BatchOptions configure batches. The zero value is good for most consumers.
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

// RunBatches is [Consumer.Run] with a batch handler. Up to Concurrency batches are handled at the same time.
func (c *Consumer) RunBatches(ctx context.Context, h BatchHandler, o *BatchOptions) (Report, error) {
	return c.runAlone(ctx, c.WithBatches(h, o))
}

// WithBatches assigns a batch handler to the consumer, for [RunAll]. A batch counts as one handler.
func (c *Consumer) WithBatches(h BatchHandler, o *BatchOptions) Assignment {
	b := &batching{}
	b.BatchOptions = *cmp.Or(o, &BatchOptions{})
	setDefault(&b.Size, defaultBatchSize)
	for i := len(b.Middleware) - 1; h != nil && i >= 0; i-- {
		if m := b.Middleware[i]; m != nil { // check reports it
			h = m(h)
		}
	}
	b.handler = h
	return Assignment{consumer: c, batching: b, weight: 1}
}

// HandleBatch makes a BatchHandler of a function of decoded bodies. Messages that cannot be decoded are rejected, with
// their raw bytes. f gets the others; the indexes of the *[HandleBatchError] that it returns are indexes of its slice.
func HandleBatch[T any](c Codec, f func(ctx context.Context, ds []Typed[T]) error) BatchHandler {
	if c == nil || f == nil {
		return nil // RunBatches returns an error
	}
	return func(ctx context.Context, ds []*Delivery) error {
		failed := &HandleBatchError{Errs: map[int]error{}}
		typed := make([]Typed[T], 0, len(ds))
		at := make([]int, 0, len(ds)) // indexes of typed in ds
		var last *Delivery            // the last delivery that could not be decoded
		for i, d := range ds {
			if d.behind(last) { // it is delivered again when that one is rejected
				last = d
				continue
			}
			t, err := decode[T](ctx, c, d)
			if err != nil {
				failed.Errs[i], last = err, d
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

// entryErrors returns the errors of the entries that failed, by their index. Only a *HandleBatchError that the handler
// returns itself can say that some deliveries were handled; a wrapped one may be about something else.
func entryErrors(err error, n int) map[int]error {
	if err == nil {
		return nil
	}
	if partial, ok := err.(*HandleBatchError); ok { //nolint:errorlint // a wrapped one may be about something else
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

// batching is the configuration of a session with batches.
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

// callBatch calls the handler. A panic is the error of all deliveries.
func callBatch(ctx context.Context, h BatchHandler, ds []*Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()
	return h(ctx, ds)
}
