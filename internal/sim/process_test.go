package sim

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// slot runs one process after another, until the world has drained.
func (w *world) slot(n int) {
	for i := 0; ; i++ {
		inc := w.plan.process(n, i)
		if i > 0 {
			w.tally.add(seenRestart, 1)
		}
		w.process(inc)
		select {
		case <-w.drained:
			return
		case <-time.After(inc.pause):
		}
		select {
		case <-w.drained:
			return
		default:
		}
	}
}

// process runs one process from its start to its end. After a crash its goroutines continue for a while, without a
// network; the world waits for them at its end.
func (w *world) process(inc processPlan) {
	tap := w.tap(inc.name)
	b, err := tap.backend(inc.waitPolls)
	if err != nil {
		w.fail("%s: open: %v", inc.name, err)
		return
	}
	run := &run{w: w, leave: make(chan struct{}), done: make(chan struct{})}
	run.consume(b, w.checkers[0], inc)
	if inc.fleet != nil {
		run.consume(b, w.checkers[1], inc.fleet.second)
		run.joinFleet()
	}
	w.began(&inc)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.processes.Go(func() {
		defer close(run.done)
		defer b.Close(context.Background())
		run.until(ctx)
	})
	w.processes.Go(func() { run.calls(time.Now()) })
	w.end(run, tap, cancel)
}

// consume makes a consumer of a process.
func (r *run) consume(b driver.Backend, checker *checker, inc processPlan) {
	p := checker.join(inc)
	inc.options.Policy = checker.policy(p)
	inc.options.Hooks = checker.hooks(p)
	c, err := godwit.NewConsumer(context.Background(), b, checker.plan.channel(), &inc.options)
	if err != nil {
		r.w.fail("%s: %v", inc.name, err)
	}
	r.ps, r.cs = append(r.ps, p), append(r.cs, c)
}

func (w *world) began(inc *processPlan) {
	w.trace.note("%s starts", inc.name)
	if inc.pull != pullNot {
		w.tally.add(seenPull, 1)
	}
	if inc.batch != nil {
		w.tally.add(seenBatches, 1)
	}
	if inc.fleet != nil {
		w.tally.add(seenFleet, 1)
	}
	if inc.options.MaxBytes > 0 {
		w.tally.add(seenSmallBytes, 1)
	}
}

// end waits for the time of the plan, and then ends the process in the way of the plan. After the time of faults, a
// process runs until the world has drained, and then stops gracefully.
func (w *world) end(r *run, tap *wireTap, cancel context.CancelFunc) {
	p := r.ps[0]
	how, life := p.inc.end, p.inc.life
	if time.Since(w.trace.begun)+life > w.plan.lasts {
		how, life = endStop, w.plan.lasts+2*drainWithin
	}
	select {
	case <-r.done:
		return
	case <-w.drained:
		how = endStop
	case <-time.After(life):
	case <-r.halted(): // one consumer of a fleet has ended
		if r.together() {
			return
		}
		how = endStop
	}
	switch how {
	case endCrash:
		w.tally.add(seenCrash, 1)
		for _, p := range r.ps {
			p.checker.dies(p)
		}
		tap.sever()
		cancel()
		return
	case endLeave:
		w.tally.add(seenLeftLoop, 1)
		close(r.leave)
		select {
		case <-r.done:
			return
		case <-time.After(time.Minute): // the loop cannot end, because no message came
		}
	case endStop:
	}
	w.tally.add(seenStop, 1)
	if p.checker.busy(p) {
		w.tally.add(seenStopBusy, 1)
	}
	cancel()
	<-r.done
}

// run is a process while it runs.
type run struct {
	w     *world
	ps    []*consumer // of the main channel, and of the flood in a fleet
	cs    []*godwit.Consumer
	leave chan struct{} // closed to end the loop over the iterator
	done  chan struct{}
	kept  sync.WaitGroup // goroutines that settle deliveries that the loop has kept
}

func (r *run) until(ctx context.Context) {
	var report godwit.Report
	var err error
	p, c := r.ps[0], r.cs[0]
	switch {
	case p.fleet != nil:
		r.all(ctx)
		return
	case p.inc.pull != pullNot:
		report, err = r.pull(ctx)
	case p.inc.batch != nil:
		report, err = c.RunBatches(ctx, r.w.batchHandler(p), p.inc.batch)
	default:
		report, err = c.Run(ctx, r.w.handler(p))
	}
	p.checker.over(p, report, err)
}

// pull loops over an iterator and settles the deliveries itself.
func (r *run) pull(ctx context.Context) (godwit.Report, error) {
	var failed error
	if r.ps[0].inc.pull == pullOne {
		failed = r.each(ctx, one(r.cs[0].Deliveries(ctx)))
	} else {
		failed = r.each(ctx, r.cs[0].Batches(ctx))
	}
	closing := make(chan struct{})
	var report godwit.Report
	var err error
	r.w.processes.Go(func() { // kept deliveries are settled while Close waits for them
		defer close(closing)
		report, err = r.cs[0].Close(context.Background())
	})
	<-closing
	r.kept.Wait()
	return report, errors.Join(failed, err)
}

func one(from iter.Seq2[*godwit.Delivery, error]) iter.Seq2[[]*godwit.Delivery, error] {
	return func(yield func([]*godwit.Delivery, error) bool) {
		for d, err := range from {
			var ds []*godwit.Delivery
			if d != nil {
				ds = []*godwit.Delivery{d}
			}
			if !yield(ds, err) {
				return
			}
		}
	}
}

func (r *run) each(ctx context.Context, batches iter.Seq2[[]*godwit.Delivery, error]) error {
	for ds, err := range batches {
		if err != nil {
			r.w.trace.note("%s gets the error %v", r.ps[0].name, err)
		}
		for _, d := range ds {
			r.handle(ctx, d)
		}
		select {
		case <-r.leave:
			return nil
		default:
		}
	}
	return nil
}

// handle treats a delivery as the seed decides.
func (r *run) handle(ctx context.Context, d *godwit.Delivery) {
	p := r.ps[0]
	starts := p.checker.begin(p, d)
	if starts == nil {
		return
	}
	h := starts[0].delivery
	do := p.checker.plan.behavior(starts[0], time.Since(r.w.trace.begun))
	if do.kind == seenKept || do.stream.chance(0.1) {
		d.Keep()
		r.kept.Go(func() { r.settle(ctx, d, h, &do, true) })
		return
	}
	r.settle(ctx, d, h, &do, false)
}

func (r *run) settle(ctx context.Context, d *godwit.Delivery, h *delivery, do *behavior, kept bool) {
	returned := r.ps[0].checker.returned
	if do.kind == seenSlowHandler || do.kind == seenKept {
		r.w.tally.add(do.kind, 1)
	}
	if !work(ctx, &behavior{kind: "", time: do.time, stream: do.stream}, r.ps[0]) {
		returned(h, outReleased, 0)
		_ = d.Release() // lost, or already released
		return
	}
	// The checker is told first: as soon as the delivery is settled, the next one of its key may start.
	switch do.kind {
	case seenFailure, seenDown, seenRetrySoon, seenRetryLate:
		returned(h, outRetried, do.wait)
		_ = d.Retry(do.wait)
	case seenPermanent, seenPanic:
		returned(h, outRejected, 0)
		_ = d.Reject(errBusiness)
	case seenRelease:
		returned(h, outReleased, 0)
		_ = d.Release()
	case seenSelf:
		returned(h, outReleased, 0)
		if kept { // a kept delivery must be settled; otherwise the iterator releases it
			_ = d.Release()
		}
	default:
		returned(h, outDone, 0)
		_ = d.Done()
	}
}
