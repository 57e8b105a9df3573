package godwit

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pool is the workers that one or more sessions share.
type pool struct {
	bus *bus
	wg  sync.WaitGroup // workers that are not given up

	mu    sync.Mutex
	size  int          // workers there should be
	there int          // workers there are, without those that are given up
	extra atomic.Int32 // there less size, for workers to look at between two deliveries
}

// worker runs one handler at a time.
type worker struct {
	pool     *pool
	goid     string // as runtime.Stack prints it
	leave    sync.Once
	replaced atomic.Bool // another works in its place: it goes home when its handler returns
	stint    *stint
}

// resize makes the pool so large. Surplus workers go home when they have finished what they do.
func (p *pool) resize(n int) {
	p.mu.Lock()
	p.size = n
	p.fill()
	p.mu.Unlock()
	p.bus.wakeAll()
}

// fill starts the workers that are missing, and says how many are too many. The caller holds p.mu.
func (p *pool) fill() {
	for ; p.there < p.size; p.there++ {
		p.wg.Add(1)
		go (&worker{pool: p}).loop()
	}
	p.extra.Store(int32(p.there - p.size))
}

// surplus says whether the pool has more workers than it should.
func (p *pool) surplus() bool { return p.extra.Load() > 0 }

// dismiss lets a surplus worker go home, if there still is one too many.
func (p *pool) dismiss() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.there <= p.size {
		return false
	}
	p.there--
	p.extra.Add(-1)
	return true
}

// replace lets another worker take the place of one whose handler does not return.
func (p *pool) replace(w *worker) {
	if w.replaced.Swap(true) {
		return
	}
	p.mu.Lock()
	p.there--
	p.fill()
	p.mu.Unlock()
	w.gone()
}

// gone says that nobody need wait for this worker any more.
func (w *worker) gone() { w.leave.Do(w.pool.wg.Done) }

func (w *worker) loop() {
	defer w.gone()
	home := false
	defer func() {
		if !home { // a handler has ended this goroutine
			w.pool.replace(w)
		}
	}()
	w.goid, w.stint = goroutine(), &stint{worker: w}
	for !w.replaced.Load() {
		d := w.pool.bus.pop(w.pool.surplus)
		if d == nil {
			if w.pool.bus.over() || w.pool.dismiss() {
				break
			}
			continue
		}
		w.take(d)
	}
	home = true
}

// take handles a delivery, and what else belongs into a batch with it.
func (w *worker) take(d *Delivery) {
	s := d.in
	now := s.clock.now()
	switch started := s.start(d, now); {
	case started && s.batching != nil:
		s.workBatch(w, d)
	case started:
		s.work(w, d, now)
	case s.batching != nil:
		s.bus.gathered(s)
	}
}

// work runs the handler of a started delivery and concludes it.
func (s *session) work(w *worker, d *Delivery, begun moment) {
	ctx := &d.ctx
	if ctx.used() {
		ctx = new(handlerContext)
	}
	ctx.renew(&s.base, begun.plus(s.c.o.ProcessingTimeout))
	s.keeper.started(w.stint, w.stint.with(d), ctx, begun, ctx.deadline)
	observe(s, s.c.o.Hooks.Started, d)
	err := errGoexit // unless the handler returns
	defer func() { s.worked(d, ctx, begun, err) }()
	err = recovered(ctx, s.handler, d)
}

// worked concludes a delivery whose handler has returned. It is deferred, so that it also runs when the handler has ended
// the goroutine.
func (s *session) worked(d *Delivery, ctx *handlerContext, begun moment, err error) {
	now := s.clock.now()
	if late := s.keeper.ended(d, now); late {
		s.health.returned(d)
	}
	cause := ctx.end()

	if err != nil {
		s.pace.failed.Add(1)
	}

	chosen := d.choice.Swap(s.sealed)
	if !d.claim() {
		return // given up meanwhile: its verdict is already on its way
	}
	e := s.decide(d, chosen, cause, err)
	s.end(&e, now.since(begun))
}

// ending is what becomes of a delivery whose handler has returned.
type ending struct {
	d           *Delivery
	v           Verdict
	fate        fate
	err, reason error
}

// fate says whether a verdict is carried out, or the delivery was not handled at all.
type fate uint8

const (
	fateVerdict  fate = iota // the verdict
	fateReleased             // it goes back untouched
	fateHeld                 // it is held for Verdict.After and starts again, without an attempt
)

// end tells of an ending and carries it out. The caller has claimed the delivery.
func (s *session) end(e *ending, took time.Duration) {
	if f := s.c.o.Hooks.Ended; f != nil {
		s.guard(func() { f(e.d, e.v, e.err, took) })
	}
	s.carryOut(e)
}

// carryOut does what an ending says.
func (s *session) carryOut(e *ending) {
	switch e.fate {
	case fateReleased:
		s.giveBack(e.d)
	case fateHeld:
		s.holdUntouched(e.d, e.v.After)
	default:
		s.conclude(e.d, e.v, e.reason)
	}
}

// decide turns what a handler did into a verdict, or into giving the delivery back untouched.
func (s *session) decide(d *Delivery, chosen *choice, cause, err error) ending {
	e := ending{d: d, err: err}
	switch {
	case chosen != nil:
		e.v, e.reason = chosen.verdict, chosen.reason
		if chosen.release {
			e = s.released(d)
			e.err = err
		}
		return e
	case err == nil:
		s.breaker.result(true, nil)
		return e
	case errors.Is(cause, ErrProcessingTimeout):
		s.breaker.result(false, ErrProcessingTimeout)
		e.v, e.reason = Verdict{Action: Reject}, &Error{Op: "handle", Channel: s.c.name, MessageID: d.ID, Err: ErrProcessingTimeout}
		return e
	case errors.Is(cause, ErrShutdown), errors.Is(cause, ErrRevoked), d.lost.Load():
		e.fate = fateReleased
		return e
	case errors.Is(err, ErrBusy):
		e.v, e.fate = Verdict{Action: Retry, After: busyWait(err)}, fateHeld
		return e
	case counts(err) && s.breaker.result(false, err):
		e.fate = fateReleased // nobody could have handled it: that is no attempt
		return e
	}
	if d.first == noMoment {
		d.first = s.clock.now()
	}
	d.Failures++
	s.c.log.panicked(d, err)
	e.v, e.reason = s.ask(d, err), err
	if e.v.Action == Retry {
		s.c.log.retried(d, e.v.After, err)
		if f := s.c.o.Hooks.Retried; f != nil {
			s.guard(func() { f(d, e.v.After, err) })
		}
	}
	return e
}

// ask asks the policy; one that panics has decided nothing, and the default decides.
func (s *session) ask(d *Delivery, err error) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			s.fault(newPanicError(p))
			v = RetryPolicy(s.c.o.MaxAttempts, defaultBackoff())(d, err) // Backoff is the caller's too
		}
	}()
	return s.c.policy(d, err)
}

// timedOut is told by the keeper when a handler's time is up and its context cancelled.
func (s *session) timedOut(d *Delivery) {
	s.count.timeouts.Add(1)
	s.c.log.timedOut(d, s.c.o.ProcessingTimeout)
	observe(s, s.c.o.Hooks.TimedOut, d)
}

// stuck is told by the keeper when a handler ignores its cancelled context: its worker is replaced. Where order is
// kept, its lane and lease stay held until it returns; elsewhere it is dead-lettered now.
func (s *session) stuck(st stray) {
	d, stack := st.ds[0], st.worker.stack()
	n := s.health.abandon(d, stack)
	if n == 0 {
		return // it has just returned
	}
	s.count.abandoned.Add(1)
	s.c.log.abandoned(d, stack)
	if f := s.c.o.Hooks.Abandoned; f != nil {
		s.guard(func() { f(d, stack) })
	}
	if n > s.c.o.MaxAbandoned {
		s.fail(&Error{Op: "handle", Channel: s.c.name, MessageID: d.ID, Err: ErrAbandoned})
		return
	}
	s.pool.replace(st.worker)
	s.bus.vacate(d)
	for _, one := range st.ds {
		s.giveUp(one)
	}
}

// giveUp dead-letters what a stuck handler has, unless order is kept.
func (s *session) giveUp(d *Delivery) {
	if d.lane == 0 && d.claim() {
		s.breaker.result(false, ErrProcessingTimeout)
		s.conclude(d, Verdict{Action: Reject}, &Error{Op: "handle", Channel: s.c.name, MessageID: d.ID, Err: ErrProcessingTimeout})
	}
}

// leaseLost is told by the keeper when a delivery is ours no more.
func (s *session) leaseLost(d *Delivery) {
	if d.lost.Swap(true) {
		return
	}
	s.keeper.interrupt(d, ErrLeaseLost)
	s.lostLease(d)
	s.dropLost(d)
}

func (s *session) lostLease(d *Delivery) {
	s.count.lost.Add(1)
	s.c.log.leaseLost(d)
	observe(s, s.c.o.Hooks.LeaseLost, d)
}

// goroutine is the name of the calling goroutine in a stack dump, such as "goroutine 42 ".
func goroutine() string {
	var buf [64]byte
	head := string(buf[:runtime.Stack(buf[:], false)])
	name, _, _ := strings.Cut(head, "[")
	return name
}

// stack is where the worker's goroutine is now. It stops the world for a moment, which is why only handlers that are
// given up are looked at.
func (w *worker) stack() []byte {
	buf := make([]byte, 1<<20)
	for one := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		if bytes.HasPrefix(one, []byte(w.goid)) {
			return bytes.Clone(one)
		}
	}
	return nil
}
