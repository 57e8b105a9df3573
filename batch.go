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

// BatchHandler handles several deliveries at once. nil means that all of them are done; a *[HandleBatchError] says which
// failed, by their index, and the others are done. Any other error means that all of them failed, and so does a
// *HandleBatchError that another error wraps, that names no delivery, or that names one the batch does not have. Each
// delivery that failed goes through the consumer's [Policy] by itself; its own methods (Retry, Reject, …) count more
// than the answer.
//
// Deliveries of one lane come one after another in a batch. When one of them fails, those behind it count as not
// handled, whatever became of them: they come again after it.
//
// The context is cancelled for all of them together, when the processing timeout of the batch passes, shutdown runs
// out of time, or the leases of all are lost.
type BatchHandler func(ctx context.Context, ds []*Delivery) error

// BatchOptions say how deliveries are gathered into batches. The zero value is good for most.
type BatchOptions struct {
	Size   int           // deliveries in a batch at most; 0: 100
	Window time.Duration // how long a batch that is not full waits for more; 0: it takes what is there
	// Middleware is wrapped around the handler; the first is outermost. ConsumerOptions.Middleware is for handlers of
	// single deliveries and cannot be used with batches.
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

// size is how many deliveries one handler has at most.
func (b *batching) size() int {
	if b == nil {
		return 1
	}
	return b.Size
}

// workBatch gathers a batch behind its first delivery, which is started, and handles it.
func (s *session) workBatch(w *worker, first *Delivery) {
	ds := s.gather(first)
	if s.polls.Err() != nil || s.gate.held(holdPaused) { // nothing has touched them yet
		s.unstartAll(ds)
		return
	}
	if ds = s.stillOurs(ds); len(ds) == 0 {
		return
	}
	begun := s.clock.now()
	ctx := new(handlerContext)
	ctx.renew(&s.base, begun.plus(s.c.o.ProcessingTimeout))
	s.keeper.started(w.stint, ds, ctx, begun, ctx.deadline)
	for _, d := range ds {
		observe(s, s.c.o.Hooks.Started, d)
	}
	err := errGoexit // unless the handler returns
	defer func() { s.workedBatch(ds, ctx, begun, err) }()
	err = s.callBatch(ctx, ds)
}

// workedBatch concludes a batch, as worked does a delivery.
func (s *session) workedBatch(ds []*Delivery, ctx *handlerContext, begun moment, err error) {
	now := s.clock.now()
	if late := s.keeper.ended(ds[0], now); late {
		s.health.returned(ds[0])
	}
	cause := ctx.end()
	took := now.since(begun)
	failed := entryErrors(err, len(ds))
	s.pace.failed.Add(int64(len(failed)))
	for _, e := range s.endings(ds, failed, cause) {
		s.end(&e, took)
	}
}

// callBatch runs the handler; a panic is the error of all.
func (s *session) callBatch(ctx context.Context, ds []*Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()
	return s.batching.handler(ctx, ds)
}

// endings reaches and claims the verdicts on a batch. Behind one that is not done, those of its lane go back into it. All
// are claimed before the first is concluded: from then on another worker may have what went back.
func (s *session) endings(ds []*Delivery, failed map[int]error, cause error) []ending {
	es := make([]ending, 0, len(ds))
	for i, d := range ds {
		if d.phase.Load() != phaseRunning {
			continue // one before it in its lane has failed, or it was given up
		}
		e := s.decide(d, d.choice.Swap(s.sealed), cause, readable(failed[i]))
		if e.fate != fateVerdict || d.lost.Load() || e.v.Action != Done && e.v.Action != Drop {
			s.unstartBehind(d)
		}
		if d.claim() {
			es = append(es, e)
		}
	}
	return es
}

// gather collects a batch: the first delivery and those behind it in its lane, then what else is runnable, until it is
// full or its window is over. Meanwhile no other worker takes anything of the session.
func (s *session) gather(first *Delivery) []*Delivery {
	defer s.bus.gathered(s)
	ds := s.withLane(nil, first)
	until := time.Now().Add(s.batching.Window)
	if s.batching.Window > 0 {
		defer time.AfterFunc(s.batching.Window, s.bus.wakeAll).Stop()
	}
	for len(ds) < s.batching.Size {
		d := s.bus.more(s, until)
		if d == nil {
			break
		}
		if s.start(d, s.clock.now()) {
			ds = s.withLane(ds, d)
		}
	}
	return ds
}

// stillOurs leaves out what lost its lease while the batch gathered, and what is behind it in its lane: others have it.
func (s *session) stillOurs(ds []*Delivery) []*Delivery {
	ours := ds[:0]
	for _, d := range ds {
		switch {
		case d.phase.Load() != phaseRunning: // it was behind one that is lost
		case d.lost.Load():
			s.unstartBehind(d)
			if d.claim() {
				s.disown(d)
			}
		default:
			ours = append(ours, d)
		}
	}
	return ours
}

// withLane adds a started head to a batch, and those behind it in its lane.
func (s *session) withLane(ds []*Delivery, d *Delivery) []*Delivery {
	for ds = append(ds, d); len(ds) < s.batching.Size; ds = append(ds, d) {
		d = d.src.behind(d)
		if d == nil || d.err != nil || d.lost.Load() || !d.src.begin() {
			break // it stays in its lane, until it is the head
		}
		d.phase.Store(phaseRunning)
		s.running.Add(1)
	}
	return ds
}

// unstart takes a delivery back into its lane as if it had never been started, and says whether it was running.
func (s *session) unstart(d *Delivery) bool {
	if !d.phase.CompareAndSwap(phaseRunning, phaseWaiting) {
		return false
	}
	d.choice.Store(nil)
	d.src.end()
	s.stopped(d)
	return true
}

// unstartBehind takes back what runs in one batch with d, behind it in its lane.
func (s *session) unstartBehind(d *Delivery) {
	for d = d.src.behind(d); d != nil && s.unstart(d); {
		d = d.src.behind(d)
	}
}

// unstartAll takes a batch back that nobody has begun to handle.
func (s *session) unstartAll(ds []*Delivery) {
	s.running.Add(1) // a shutdown waits until all of it is on its way back
	defer s.oneLess()
	heads := make([]*Delivery, 0, len(ds))
	for i, d := range ds {
		if i == 0 || d.lane == 0 || d.lane != ds[i-1].lane || d.src != ds[i-1].src {
			heads = append(heads, d)
		}
	}
	for _, d := range ds {
		s.unstart(d)
	}
	for _, d := range heads {
		if s.polls.Err() != nil { // the bus may not know yet that the session ends, and would hand it out again and again
			s.giveBackWaiting(d)
		} else {
			s.resume(d)
		}
	}
}
