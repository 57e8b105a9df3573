package engine

import "time"

// workBatch gathers a batch behind its first item and handles it.
func (s *Session) workBatch(w *worker, first *Item) {
	st := w.stint
	if first.Err != nil {
		s.work(w, first)
		return
	}
	its := s.gather(first)
	f := s.flow
	f.lock()
	if f.stopping() || f.gate.held(holdPaused) { // nothing has touched them yet
		f.undoAll(its)
		its = nil
	} else {
		its = f.stillOurs(its)
	}
	if len(its) == 0 {
		f.unseat(st)
		f.unlock()
		return
	}
	begun := f.clock.now()
	for _, it := range its {
		f.move(it, evStart)
	}
	st.ctx = new(Context)
	st.ctx.renew(&f.keeper.base, begun.plus(s.cfg.ProcessingTimeout))
	f.start(st, its, begun, st.ctx.deadline)
	f.unlock()
	for _, it := range its {
		s.obs.Started(it)
	}
	failed := allFailed(its)
	defer func() { s.workedBatch(st, its, failed) }()
	failed = s.cfg.HandleBatch(st.ctx, its)
}

// allFailed is the answer of a handler that ended its goroutine.
func allFailed(its []*Item) map[int]error {
	failed := make(map[int]error, len(its))
	for i := range its {
		failed[i] = ErrGoexit
	}
	return failed
}

// workedBatch concludes a batch, as worked does an item.
func (s *Session) workedBatch(st *stint, its []*Item, failed map[int]error) {
	now := s.flow.clock.now()
	cause := st.ctx.end()
	s.flow.lock()
	s.flow.returned(st, now)
	s.flow.unlock()
	s.pace.failed.Add(int64(len(failed)))
	its = append([]*Item(nil), its...) // the stint's own list is cleared when it is over
	took := now.since(st.begun)
	vs := s.verdicts(st, its, failed, cause)
	if len(vs) == 0 {
		s.flow.over(st)
	}
	for i, v := range vs {
		var last *stint
		if i == len(vs)-1 {
			last = st
		}
		s.ended(its[v.at], v.Verdict, failed[v.at], took)
		s.flow.conclude(its[v.at], v.Verdict, last)
	}
}

// verdictAt is the verdict on one item of a batch.
type verdictAt struct {
	Verdict
	at int
}

// verdicts reaches the verdicts on a batch, but for items that have gone back into their lane, behind one that is not done, or were
// given up. All are reached before the first is carried out: from then on another worker may have what went back.
func (s *Session) verdicts(st *stint, its []*Item, failed map[int]error, cause error) (vs []verdictAt) {
	for i, it := range its {
		s.flow.lock()
		mine := st.has(it)
		s.flow.unlock()
		if !mine {
			continue
		}
		v := s.decide(it, cause, failed[i])
		vs = append(vs, verdictAt{v, i})
		s.flow.lock()
		if it.lost.Load() || v.Action != ActionDone && v.Action != ActionDrop {
			s.flow.undoBehind(it)
		}
		s.flow.unlock()
	}
	return vs
}

// gather collects a batch: the first item and those behind it in its lane, then what else is runnable, until it is full or its
// window is over. Meanwhile no other worker takes anything of the session.
func (s *Session) gather(first *Item) []*Item {
	f, window := s.flow, s.cfg.Window
	until := time.Now().Add(window)
	if window > 0 {
		defer time.AfterFunc(window, func() { s.wakeAll() }).Stop()
	}
	f.lock()
	its := f.withLane(nil, first)
	for len(its) < s.cfg.MaxBatch && !f.queue.parked && !f.queue.frozen {
		if it := f.queue.head; it != nil {
			if ok, bad := f.gatherOne(it); ok {
				its = f.withLane(its, it)
			} else if bad {
				f.unlock()
				f.conclude(it, Verdict{Action: ActionReject, Reason: it.Err}, nil)
				f.lock()
			}
			continue
		}
		if !time.Now().Before(until) {
			break
		}
		f.wait()
	}
	f.queue.gathering = false
	if f.queue.head != nil {
		f.fleet.wakeAll()
	}
	f.unlock()
	return its
}

// wait waits until something may be runnable. What is to be told is told first.
func (f *flow) wait() {
	if len(f.talk.notes) > 0 || len(f.heirs) > 0 {
		f.unlock()
		f.lock()
		return
	}
	f.fleet.idle++
	f.fleet.some.Wait()
	f.fleet.idle--
}

// gatherOne takes the first runnable item into a batch; bad: it cannot be decoded, and is in hand to be rejected.
func (f *flow) gatherOne(it *Item) (ok, bad bool) {
	switch {
	case it.lease.overBy(f.clock.now()):
		f.lose(it)
	case it.src.dead:
		f.drop(it)
	case it.Err != nil:
		f.move(it, evStart)
		return false, true
	default:
		return f.move(it, evGather), false
	}
	return false, false
}

// stillOurs leaves out what lost its lease while the batch gathered, and what is behind it in its lane: others have it.
func (f *flow) stillOurs(its []*Item) []*Item {
	ours := its[:0]
	for _, it := range its {
		switch it.state {
		case gathering:
			ours = append(ours, it)
		case lost:
			f.undoBehind(it)
			f.endLost(it)
		}
	}
	return ours
}

// withLane adds the head of a lane to a batch, and those behind it in its lane.
func (f *flow) withLane(its []*Item, it *Item) []*Item {
	for its = append(its, it); len(its) < f.cfg.MaxBatch; its = append(its, it) {
		it = it.laneNext
		if it == nil || it.Err != nil || it.src.dead || !f.move(it, evGather) {
			break // it stays in its lane, until it is the head
		}
	}
	return its
}

// undoAll takes a batch back that nobody has begun to handle.
func (f *flow) undoAll(its []*Item) {
	var heads []*Item
	for _, it := range its {
		switch {
		case it.state == lost:
			f.endLost(it)
		case f.move(it, evUndo) && it.lanePrev == nil:
			heads = append(heads, it)
		}
	}
	for _, it := range heads {
		if f.stopping() { // the bus may not know yet that the session ends, and would hand it out again and again
			f.giveBackWaiting(it)
		} else {
			f.goOn(it, true)
		}
	}
}
