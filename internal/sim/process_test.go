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

// slot is a place in which one consumer's process runs after another, until the world has drained.
func (w *world) slot(n int) {
	for i := 0; ; i++ {
		inc := w.plan.incarnation(n, i)
		if i > 0 {
			w.tally.add(struckRestart, 1)
		}
		w.life(inc)
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

// life is one process from its start to its end. Of one that crashed the remains go on for a while, without a network;
// the world waits for them at its end.
func (w *world) life(inc incarnation) {
	tap := w.tap(inc.name)
	b, err := tap.backend(inc.waitPolls)
	if err != nil {
		w.fail("%s: open: %v", inc.name, err)
		return
	}
	run := &run{w: w, leave: make(chan struct{}), done: make(chan struct{})}
	run.consume(b, w.books[0], inc)
	if inc.fleet != nil {
		run.consume(b, w.books[1], inc.fleet.second)
		run.crew()
	}
	w.began(&inc)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.remains.Go(func() {
		defer close(run.done)
		defer b.Close(context.Background())
		run.until(ctx)
	})
	w.remains.Go(func() { run.calls(time.Now()) })
	w.end(run, tap, cancel)
}

// consume makes a consumer of a process.
func (r *run) consume(b driver.Backend, books *books, inc incarnation) {
	p := books.join(inc)
	inc.options.Policy = books.policy(p)
	inc.options.Hooks = books.hooks(p)
	c, err := godwit.NewConsumer(context.Background(), b, books.plan.channel(), &inc.options)
	if err != nil {
		r.w.fail("%s: %v", inc.name, err)
	}
	r.ps, r.cs = append(r.ps, p), append(r.cs, c)
}

func (w *world) began(inc *incarnation) {
	w.trace.note("%s starts", inc.name)
	if inc.pull != pullNot {
		w.tally.add(struckPull, 1)
	}
	if inc.batch != nil {
		w.tally.add(struckBatches, 1)
	}
	if inc.fleet != nil {
		w.tally.add(struckFleet, 1)
	}
	if inc.options.MaxBytes > 0 {
		w.tally.add(struckSmallBytes, 1)
	}
}

// end lets a process live its life, and ends it the way the plan wants; after the trouble all live until the world has
// drained, and stop gracefully.
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
		w.tally.add(struckCrash, 1)
		for _, p := range r.ps {
			p.books.dies(p)
		}
		tap.sever()
		cancel()
		return
	case endLeave:
		w.tally.add(struckLeftLoop, 1)
		close(r.leave)
		select {
		case <-r.done:
			return
		case <-time.After(time.Minute): // nothing came that it could leave after
		}
	case endStop:
	}
	w.tally.add(struckStop, 1)
	if p.books.busy(p) {
		w.tally.add(struckStopBusy, 1)
	}
	cancel()
	<-r.done
}

// run is a consumer at work.
type run struct {
	w     *world
	ps    []*member // of the main channel, and of the flood in a fleet
	cs    []*godwit.Consumer
	leave chan struct{} // closed: leave the iterator's loop
	done  chan struct{}
	kept  sync.WaitGroup // what the loop has left to others
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
	p.books.over(p, report, err)
}

// pull is the loop of a caller that settles by itself.
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
	r.w.remains.Go(func() { // what was kept is settled while Close waits for it
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
			r.w.trace.note("%s hears: %v", r.ps[0].name, err)
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

// handle does with a delivery what its seed decides.
func (r *run) handle(ctx context.Context, d *godwit.Delivery) {
	p := r.ps[0]
	starts := p.books.begin(p, d)
	if starts == nil {
		return
	}
	h := starts[0].holding
	do := p.books.plan.deed(starts[0], time.Since(r.w.trace.begun))
	if do.kind == struckKept || do.roll.chance(0.1) {
		d.Keep()
		r.kept.Go(func() { r.settle(ctx, d, h, &do, true) })
		return
	}
	r.settle(ctx, d, h, &do, false)
}

func (r *run) settle(ctx context.Context, d *godwit.Delivery, h *holding, do *deed, kept bool) {
	returned := r.ps[0].books.returned
	if do.kind == struckSlowHandler || do.kind == struckKept {
		r.w.tally.add(do.kind, 1)
	}
	if !work(ctx, &deed{kind: "", time: do.time, roll: do.roll}, r.ps[0]) {
		returned(h, outReleased, 0)
		_ = d.Release() // lost, or given back already
		return
	}
	// The books come first: by the time a settle has returned, the next of its key may have started.
	switch do.kind {
	case struckFailure, struckDown, struckRetrySoon, struckRetryLate:
		returned(h, outRetried, do.wait)
		_ = d.Retry(do.wait)
	case struckPermanent, struckPanic:
		returned(h, outRejected, 0)
		_ = d.Reject(errBusiness)
	case struckRelease:
		returned(h, outReleased, 0)
		_ = d.Release()
	case struckSelf:
		returned(h, outReleased, 0)
		if kept { // forgotten, it would stay with us for ever; else the iterator gives it back
			_ = d.Release()
		}
	default:
		returned(h, outDone, 0)
		_ = d.Done()
	}
}
