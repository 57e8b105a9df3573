package engine

import (
	"slices"
	"time"
)

// workBatch gathers a batch that begins with an item, and handles it.
func (r *runner) workBatch(w *worker, first *Item) {
	f, st := r.f, w.stint
	if first.Err != nil {
		r.work(w, first)
		return
	}
	g := &gatherer{f: f, r: r}
	its := g.gather(first)
	f.lock()
	if f.stopping() || f.gate.held(holdPaused) { // no handler has seen them
		g.undoAll(its)
		its = nil
	} else {
		its = g.stillOurs(its)
	}
	if len(its) == 0 {
		f.stints.unseat(st)
		f.unlock()
		return
	}
	begun := f.clock.now()
	for _, it := range its {
		f.move(it, evStart)
	}
	st.ctx = &Context{all: &f.keeper.base, deadline: begun.plus(r.cfg.ProcessingTimeout)}
	f.stints.start(st, its, begun, st.ctx.deadline)
	f.unlock()
	for _, it := range its {
		r.obs.Started(it)
	}
	failed, chosen := allFailed(its), make([]*Verdict, len(its))
	defer func() { r.workedBatch(st, its, chosen, failed) }()
	failed = r.cfg.HandleBatch(st.ctx, its, chosen)
}

// allFailed is the result of a handler that ended its goroutine.
func allFailed(its []*Item) map[int]error {
	failed := make(map[int]error, len(its))
	for i := range its {
		failed[i] = ErrGoexit
	}
	return failed
}

// workedBatch settles the items of a batch, as worked does for one item.
func (r *runner) workedBatch(st *stint, its []*Item, chosen []*Verdict, failed map[int]error) {
	f := r.f
	now := f.clock.now()
	cause := st.ctx.end()
	f.lock()
	f.stints.returned(st, now)
	f.stints.meter.failed += len(failed)
	f.unlock()
	its = slices.Clone(its) // the stint's own list is cleared when the stint is over
	took := now.since(st.begun)
	vs := r.verdicts(st, its, chosen, failed, cause)
	if len(vs) == 0 {
		f.lock()
		f.stints.free(st)
		f.unlock()
	}
	for i, v := range vs {
		var last *stint
		if i == len(vs)-1 {
			last = st
		}
		r.obs.Ended(its[v.at].Owner, v.Verdict, failed[v.at], took)
		r.conclude(its[v.at], v.Verdict, last)
	}
}

// verdictAt is the verdict on one item of a batch.
type verdictAt struct {
	Verdict
	at int
}

// verdicts returns the verdicts on a batch, without the items that are no longer in hand: those that were taken back
// into their lane behind one that is not done, and those that were abandoned. All verdicts are decided before the first
// is carried out, because another worker may then have the items that were taken back.
func (r *runner) verdicts(
	st *stint, its []*Item, chosen []*Verdict, failed map[int]error, cause error,
) (vs []verdictAt) {
	f := r.f
	for i, it := range its {
		f.lock()
		mine := st.has(it)
		f.unlock()
		if !mine {
			continue
		}
		v := r.decide(it, chosen[i], cause, failed[i])
		vs = append(vs, verdictAt{v, i})
		f.lock()
		// A message that is dropped after it has failed is gone, but the handler may not have got to those behind it.
		dropped := v.Action == ActionDrop && !v.Failed && failed[i] == nil
		if it.lost.Load() || v.Action != ActionDone && !dropped {
			f.undoBehind(it)
		}
		f.unlock()
	}
	return vs
}

// gatherer gathers one batch.
type gatherer struct {
	f   *flow
	r   *runner
	its []*Item
}

// gather collects a batch: the first item and those behind it in its lane, and then other items that can start, until
// the batch is full or its window is over. Meanwhile no other worker takes an item of the session.
func (g *gatherer) gather(first *Item) []*Item {
	f, window := g.f, g.r.cfg.Window
	until := time.Now().Add(window)
	if window > 0 {
		defer time.AfterFunc(window, f.fleet.wakeNow).Stop()
	}
	f.lock()
	g.withLane(first)
	for !g.full() && !f.queue.parked && !f.queue.frozen {
		if it := f.queue.head; it != nil {
			g.take(it)
		} else if time.Now().Before(until) {
			g.wait()
		} else {
			break
		}
	}
	f.queue.gathering = false
	if f.queue.head != nil {
		f.fleet.wakeAll()
	}
	f.unlock()
	return g.its
}

func (g *gatherer) full() bool { return len(g.its) >= g.r.cfg.MaxBatch }

// wait waits until an item may be able to start. Steps and notes that are pending are handled first.
func (g *gatherer) wait() {
	f := g.f
	if len(f.talk.notes) > 0 || len(f.steps) > 0 || len(f.heirs) > 0 {
		f.unlock()
		f.lock()
		return
	}
	f.fleet.idle++
	f.fleet.some.Wait()
	f.fleet.idle--
}

// take adds the first item of the bus to the batch, unless its lease has ended or it cannot be decoded.
func (g *gatherer) take(it *Item) {
	f := g.f
	switch {
	case it.lease.overBy(f.clock.now()):
		f.markLost(it)
		f.drop(it, evLose)
	case it.src.dead:
		f.drop(it, evLose)
	case it.Err != nil:
		f.move(it, evStart)
		f.unlock()
		g.r.conclude(it, Verdict{Action: ActionReject, Reason: it.Err}, nil)
		f.lock()
	default:
		f.move(it, evGather)
		g.withLane(it)
	}
}

// withLane adds the head of a lane to the batch, and the items behind it.
func (g *gatherer) withLane(it *Item) {
	if it.state == lost { // since it was taken
		g.its = append(g.its, it)
		return
	}
	for g.its = append(g.its, it); !g.full(); g.its = append(g.its, it) {
		it = it.laneNext
		if it == nil || it.Err != nil || it.src.dead || !g.f.move(it, evGather) {
			break // it stays in its lane until it is the head
		}
	}
}

// stillOurs removes the items that lost their lease while the batch gathered, and those behind them in their lanes,
// because other consumers may have them.
func (g *gatherer) stillOurs(its []*Item) []*Item {
	ours := its[:0]
	for _, it := range its {
		switch it.state {
		case gathering:
			ours = append(ours, it)
		case lost:
			g.f.undoBehind(it)
			g.f.drop(it, evReturn)
		}
	}
	return ours
}

// undoAll takes a batch back that no handler has seen.
func (g *gatherer) undoAll(its []*Item) {
	f := g.f
	for _, it := range its {
		switch {
		case it.state == lost:
			f.drop(it, evReturn)
		case !f.move(it, evUndo) || it.lanePrev != nil:
		case f.stopping(): // the bus may not know yet that the session ends, and would return the item again and again
			f.then(it, wayRelease)
		default:
			f.then(it, wayReady)
		}
	}
}
