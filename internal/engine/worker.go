package engine

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// An item passes a worker like this:
//
//  1. Fleet.next, or worker.take after the item before: it leaves the bus, and its stint begins, with a deadline.
//  2. runner.work: the observer is told, and the handler is called, with bodies, middleware and hooks around it.
//  3. runner.worked: the handler has returned. If the item is done, and nobody is to be told, 4 to 6 are left out.
//  4. runner.decide: its choice, else its error by policy and breaker, becomes a verdict.
//  5. Observer.Ended: the observer is told.
//  6. Item.prepare: what is impossible becomes another verdict, and a rejection gets the reason of its dead letter.
//  7. flow.carryOut (flow.go): the item is settled, held, or released, and the next one of its lane can start.
//  8. stints.free (stint.go): the worker is free; the settler has the item until the service has answered.

// worker runs one handler at a time.
type worker struct {
	fleet    *Fleet
	goid     string // as runtime.Stack prints it
	leave    sync.Once
	replaced atomic.Bool // another worker has replaced it: it ends when its handler returns
	stint    *stint
	taken    *Item // that it has started already, with the end of the one before; nil: none
	call     call
	run      run
}

// call is a worker's current call of a handler, with what belongs to it alone: if the handler does not return in time,
// its item may be handled again beside it, and then has another context.
type call struct {
	it     *Item
	ctx    *Context
	chosen *Verdict // by a method of the delivery; nil: none
	err    error
}

// left records that the fleet need not wait for this worker any more.
func (w *worker) left() { w.leave.Do(w.fleet.wg.Done) }

func (w *worker) loop() {
	defer w.left()
	regular := false
	defer func() {
		if !regular { // a handler has ended this goroutine
			w.fleet.mu.Lock()
			w.fleet.retire(w)
			w.fleet.mu.Unlock()
			w.fleet.refill(w)
		}
	}()
	w.goid, w.stint = goroutine(), &stint{worker: w}
	for !w.replaced.Load() {
		it := w.taken
		if w.taken = nil; it == nil {
			it = w.fleet.next(w.stint, w.fleet.surplus)
		}
		switch {
		case it == nil && w.fleet.dismissed():
			regular = true
			return
		case it == nil:
		case it.in.cfg.HandleBatch != nil:
			it.in.runner.workBatch(w, it)
		default:
			it.in.runner.work(w, it)
		}
	}
	regular = true
}

// take starts the next item for a worker whose handler has returned, if there is one: so an item costs one section
// under the lock, not two. In a fleet of several sessions, [Fleet.next] decides whose turn it is. A worker that has
// been replaced takes nothing, because it ends. The caller holds the lock.
func (w *worker) take(f *flow, now moment) {
	if !f.fleet.alone || f.fleet.surplus() || w.replaced.Load() {
		return
	}
	f.takeSteps()
	if q := f.fleet.bus.next(); q != nil {
		if it := q.head; f.stints.begin(it, w.stint, now) {
			w.taken, f.fleet.began = it, true
			f.stints.extend(w.stint, now)
		}
	}
}

// runner calls the handlers of a session, and settles their items.
type runner struct {
	f   *flow
	cfg *Config
	obs Observer
}

// work calls the handler of a started item, or the handlers of a run that begins with it, and settles.
func (r *runner) work(w *worker, it *Item) {
	st := w.stint
	if it.Err != nil {
		r.reject(it, st)
		return
	}
	c := &w.call
	defer func() {
		r.worked(st, c)
		*c = call{} // an idle worker keeps no delivery in memory
	}()
	for next := it; next != nil; next = w.run.on(c) {
		*c = call{it: next, ctx: next.Context, err: ErrGoexit} // unless the handler returns
		r.obs.Started(next)
		c.err = r.cfg.Handle(c.ctx, next, &c.chosen)
	}
}

// worked settles an item whose handler has returned. It is deferred, so that it also runs if the handler has ended the
// goroutine.
func (r *runner) worked(st *stint, c *call) {
	f, it, err := r.f, c.it, c.err
	now := f.clock.now()
	cause := c.ctx.end()
	f.lock()
	f.stints.split(st, now)
	f.stints.returned(st, now)
	if err == ErrGoexit { //nolint:errorlint // it is set by work, and not returned by a handler
		f.fleet.retire(st.worker)
	}
	mine, done := st.has(it), isDone(c.chosen, err)
	if !done {
		f.stints.meter.failed++
	}
	switch {
	case !mine: // it was abandoned, and its verdict is being sent
		f.stints.free(st)
	case done && !r.cfg.TellEnded: // the normal case, with one section under the lock
		f.breaker.succeeded()
		f.done(it)
		f.stints.free(st)
		st.worker.take(f, now)
		f.unlock()
		return
	}
	f.unlock()
	if mine {
		v := r.decide(it, c.chosen, cause, err)
		r.obs.Ended(it.Owner, v, err, now.since(st.begun)) // before the service gets the verdict
		r.conclude(it, v, st)
	}
}

// reject rejects a started item that could not be decoded, without a handler.
func (r *runner) reject(it *Item, st *stint) {
	r.f.lock()
	r.f.stints.returned(st, r.f.clock.now())
	r.f.unlock()
	r.conclude(it, Verdict{Action: ActionReject, Reason: it.Err}, st)
}

// stuck handles a handler that ignores the end of its context: another worker replaces its worker.
func (r *runner) stuck(st *stint) {
	stack := st.worker.stack()
	r.f.lock()
	out := r.f.stints.abandon(st, stack)
	if out > r.cfg.MaxAbandoned {
		first := st.its[0]
		first.in.fail(r.cfg.Error("handle", first.ID, ErrAbandoned))
	}
	replaced := out > 0 && out <= r.cfg.MaxAbandoned
	if replaced {
		r.f.fleet.retire(st.worker)
	}
	r.f.unlock()
	if replaced { // now that the observer knows
		r.f.fleet.refill(st.worker)
	}
}

// goroutine is the name of the calling goroutine in a stack dump, such as "goroutine 42 ".
func goroutine() string {
	var buf [64]byte
	head := string(buf[:runtime.Stack(buf[:], false)])
	name, _, _ := strings.Cut(head, "[")
	return name
}

// stack is the current stack of the worker's goroutine. It stops the world for a moment, so it is used only for
// abandoned handlers.
func (w *worker) stack() []byte { return stackOf(stacks(), w.goid) }

// stacks are the stacks of all goroutines, up to a megabyte.
func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}

// stackOf returns a copy of the stack of a goroutine, by its name; nil: it is not among them.
func stackOf(stacks []byte, goid string) []byte {
	if goid == "" {
		return nil
	}
	for one := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.HasPrefix(one, []byte(goid)) {
			return bytes.Clone(one)
		}
	}
	return nil
}

// decide returns the verdict for a handler's result. The caller has the item in hand, and does not hold the lock.
func (r *runner) decide(it *Item, chosen *Verdict, cause, err error) Verdict {
	switch {
	case isDone(chosen, err):
		if r.f.breaker != nil {
			r.f.lock()
			r.f.breaker.succeeded()
			r.f.unlock()
		}
		return Verdict{}
	case chosen != nil:
		return it.possible(*chosen)
	case errors.Is(cause, ErrProcessingTimeout):
		r.blamed(ErrProcessingTimeout)
		return r.cfg.timedOut(it)
	case errors.Is(cause, ErrShutdown), errors.Is(cause, ErrRevoked), it.lost.Load():
		return Verdict{Action: ActionRelease}
	}
	if wait, busy := r.cfg.Busy(err); busy {
		return Verdict{Action: ActionHold, After: wait}
	}
	if r.cfg.Blame(err) && r.blamed(err) {
		return Verdict{Action: ActionRelease} // no handler could have succeeded, so no attempt is counted
	}
	if it.first == noMoment {
		it.first = r.f.clock.now()
	}
	it.Failures++
	v := r.cfg.Judge(it, err)
	v.Reason = err
	if most := r.f.lim.RetryMax; v.Action == ActionRetry && most > 0 && v.After > most {
		v.Asked, v.After = v.After, most
	}
	r.obs.Failed(it, err, v)
	if v.Action == ActionStop {
		v.Reason = r.cfg.Error("handle", it.ID, err)
	}
	return v
}

// concludeRunning settles an item whose handler does not return, as the handler has chosen by a method of the delivery.
// It reports false if the handler has chosen nothing. The caller holds the lock.
func (f *flow) concludeRunning(it *Item) bool {
	choice := f.cfg.Choice(it)
	if choice == nil {
		return false
	}
	done := choice.Action == ActionDone
	if done {
		f.breaker.succeeded()
	} else {
		f.undoBehind(it)
	}
	v := it.possible(*choice)
	if v.Action != ActionDone && v.Action != ActionReject {
		it.part()
	}
	f.carryOut(it, it.prepare(v))
	return true
}

// blamed tells the breaker that a handler has failed, and returns whether it is open now.
func (r *runner) blamed(err error) (open bool) {
	if r.f.breaker == nil {
		return false
	}
	r.f.lock()
	defer r.f.unlock()
	return r.f.breaker.failed(err)
}

// timedOut is the verdict on an item whose handler has exceeded its timeout.
func (c *Config) timedOut(it *Item) Verdict {
	return Verdict{Action: ActionReject, Reason: c.Error("handle", it.ID, ErrProcessingTimeout)}
}

// prepare returns the verdict to carry out on an item in hand, with the reason for a dead letter. A retry that is not
// possible becomes a rejection, and if messages cannot be rejected, the session stops instead.
func (it *Item) prepare(v Verdict) Verdict {
	f := it.in.flow
	if v.Action == ActionRetry {
		now, first := f.clock.now(), it.first
		if first == noMoment {
			first = now
		}
		switch most := f.lim.HoldMax; {
		case it.NearLimit() && !f.stopping(): // a crash or a stop would cost another receive
			v = Verdict{Action: ActionReject, Reason: it.tooOften("retried", v.Reason)}
		case most > 0 && now.plus(v.After).since(first) > most:
			v = Verdict{Action: ActionReject, Reason: &HeldTooLongError{most, v.Reason}}
		}
	}
	switch {
	case v.Action != ActionReject:
	case f.cfg.NoDeadLetters:
		v = Verdict{Action: ActionStop, Reason: f.cfg.Error("dead-letter", it.ID,
			errors.Join(ErrNoDeadLetters, v.Reason))}
	default:
		v.death = f.cfg.Death(it, v.Reason)
	}
	return v
}

// conclude carries out the verdict on an item that a worker or an iterator's caller has in hand. It releases the stint;
// nil if the stint has more items.
func (r *runner) conclude(it *Item, v Verdict, st *stint) {
	f := r.f
	v = it.prepare(v)
	f.lock()
	f.carryOut(it, v)
	if st != nil {
		f.stints.free(st)
	}
	f.unlock()
}
