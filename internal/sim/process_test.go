package sim

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
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
	inc.options.Policy = w.policy()
	p := w.books.join(inc)
	inc.options.Hooks = w.books.hooks(p)
	tap := w.tap(p.name)
	b, err := tap.backend(inc.waitPolls)
	if err != nil {
		w.fail("%s: open: %v", p.name, err)
		return
	}
	c, err := godwit.NewConsumer(context.Background(), b, w.plan.channel(), &inc.options)
	if err != nil {
		w.fail("%s: %v", p.name, err)
		return
	}
	w.began(&inc)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := &run{w: w, p: p, c: c, leave: make(chan struct{}), done: make(chan struct{})}
	w.remains.Go(func() {
		defer close(run.done)
		defer b.Close(context.Background())
		run.until(ctx)
	})
	w.end(run, tap, cancel)
}

func (w *world) began(inc *incarnation) {
	w.trace.note("%s starts", inc.name)
	if inc.pull != pullNot {
		w.tally.add(struckPull, 1)
	}
	if inc.options.MaxBytes > 0 {
		w.tally.add(struckSmallBytes, 1)
	}
}

// end lets a process live its life, and ends it the way the plan wants; after the trouble all live until the world has
// drained, and stop gracefully.
func (w *world) end(r *run, tap *wireTap, cancel context.CancelFunc) {
	how := r.p.inc.end
	life := r.p.inc.life
	if time.Since(w.trace.begun)+life > troubleFor {
		how, life = endStop, drainWithin*2
	}
	select {
	case <-r.done:
		return
	case <-w.drained:
		how = endStop
	case <-time.After(life):
	}
	switch how {
	case endCrash:
		w.tally.add(struckCrash, 1)
		w.books.dies(r.p)
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
	if w.books.busy(r.p) {
		w.tally.add(struckStopBusy, 1)
	}
	cancel()
	<-r.done
}

// run is a consumer at work.
type run struct {
	w     *world
	p     *member
	c     *godwit.Consumer
	leave chan struct{} // closed: leave the iterator's loop
	done  chan struct{}
	kept  sync.WaitGroup // what the loop has left to others
}

func (r *run) until(ctx context.Context) {
	var report godwit.Report
	var err error
	if r.p.inc.pull == pullNot {
		report, err = r.c.Run(ctx, r.w.handler(r.p))
	} else {
		report, err = r.pull(ctx)
	}
	r.w.books.over(r.p, report, err)
}

// pull is the loop of a caller that settles by itself.
func (r *run) pull(ctx context.Context) (godwit.Report, error) {
	var failed error
	if r.p.inc.pull == pullOne {
		failed = r.each(ctx, one(r.c.Deliveries(ctx)))
	} else {
		failed = r.each(ctx, r.c.Batches(ctx))
	}
	closing := make(chan struct{})
	var report godwit.Report
	var err error
	r.w.remains.Go(func() { // what was kept is settled while Close waits for it
		defer close(closing)
		report, err = r.c.Close(context.Background())
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
			r.w.trace.note("%s hears: %v", r.p.name, err)
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
	h, nth := r.w.books.start(r.p, d)
	if h == nil {
		return
	}
	do := r.w.plan.deed(h.m, nth, &r.p.inc)
	if do.roll.chance(0.1) {
		d.Keep()
		r.kept.Go(func() { r.settle(ctx, d, h, &do, true) })
		return
	}
	r.settle(ctx, d, h, &do, false)
}

func (r *run) settle(ctx context.Context, d *godwit.Delivery, h *holding, do *deed, kept bool) {
	if do.kind == struckSlowHandler {
		r.w.tally.add(do.kind, 1)
	}
	if !work(ctx, &deed{kind: "", time: do.time, roll: do.roll}, r.p) {
		r.w.books.returned(h, outReleased, 0)
		_ = d.Release() // lost, or given back already
		return
	}
	// The books come first: by the time a settle has returned, the next of its key may have started.
	switch do.kind {
	case struckFailure, struckRetrySoon, struckRetryLate:
		r.w.books.returned(h, outRetried, do.wait)
		_ = d.Retry(do.wait)
	case struckPermanent, struckPanic:
		r.w.books.returned(h, outRejected, 0)
		_ = d.Reject(errBusiness)
	case struckRelease:
		r.w.books.returned(h, outReleased, 0)
		_ = d.Release()
	case struckSelf:
		r.w.books.returned(h, outReleased, 0)
		if kept { // forgotten, it would stay with us for ever; else the iterator gives it back
			_ = d.Release()
		}
	default:
		r.w.books.returned(h, outDone, 0)
		_ = d.Done()
	}
}
