package engine

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// flow moves the items of one session: every way on from a state is a method here. All of it runs under the fleet's lock,
// but for what says otherwise.
type flow struct {
	ledger
	stints   stints
	fleet    *Fleet
	cfg      *Config
	obs      Observer
	lim      driver.ReceiveLimits
	log      driver.AttemptLog // nil: the backend does not carry the attempts of held retries along
	finisher driver.Finisher   // nil: what is done is settled like all else
	settler  *settler
	keeper   *keeper
	breaker  *breaker // nil: there is none
	gate     *gate
	starts   *startLog
	polls    context.Context // ends when polling must
	clock    clock
	count    Counts
	talk     talk
}

// keptPause is how long an item that was given back untouched waits where it cannot go back (a log keeps what it handed out):
// long enough that a handler that gives back again and again does not spin.
const keptPause = time.Second

func (f *flow) lock() { f.fleet.mu.Lock() }

// unlock lets those go on whose turn has come, and tells what there is to tell once the lock is released.
func (f *flow) unlock() {
	f.goOnHeirs()
	f.verify()
	notes, orderly := f.talk.take(f.activity())
	wake := f.fleet.toWake()
	f.fleet.mu.Unlock()
	f.fleet.wake(wake)
	for _, n := range notes {
		n()
	}
	if orderly {
		f.tellInOrder()
	}
}

// goOnHeirs lets those go on who wait for a share that has become free.
func (f *flow) goOnHeirs() {
	for len(f.heirs) > 0 {
		last := len(f.heirs) - 1
		one := f.heirs[last]
		f.heirs = f.heirs[:last]
		for it := f.tenants.heir(one); it != nil; it = f.tenants.heir(one) {
			f.goOn(it, true)
		}
	}
}

// stopping says whether the session polls no more.
func (f *flow) stopping() bool { return f.polls.Err() != nil }

// goOn lets a waiting item run that is the first of its lane, as soon as its tenant's share and the bus allow. An item that
// must stay is not sent away because its tenant has too many here.
func (f *flow) goOn(it *Item, must bool) {
	switch {
	case it.src.dead:
		f.drop(it)
		return
	case f.queue.parked:
		f.giveBackWaiting(it)
		return
	}
	switch to, pause := f.tenants.admit(it, must); to {
	case admitted:
		f.move(it, evReady)
	case surplus:
		f.sendAway(it, pause)
	case waits, waitsBeside:
		if f.move(it, evWait); to == waitsBeside && it.held&hasPlace != 0 {
			f.ledger.shelve(it)
		}
	}
}

// conclude carries out the verdict on an item that a worker or an iterator's caller has in hand, and lets go of its stint; nil: that
// has other items still. It runs without the lock.
func (f *flow) conclude(it *Item, v Verdict, st *stint) {
	for again := true; again; {
		var death *driver.Death
		if v.Action == ActionReject && f.cfg.NoDeadLetters {
			v = f.noDeadLetters(it, v.Reason)
		} else if v.Action == ActionReject {
			death = f.cfg.Death(it, v.Reason)
		}
		f.lock()
		if v, again = f.carryOut(it, v, death); !again && st != nil {
			f.release(st)
		}
		f.unlock()
	}
}

// noDeadLetters is the verdict on an item that would be rejected where there is nowhere to reject it to.
func (f *flow) noDeadLetters(it *Item, reason error) Verdict {
	return Verdict{Action: ActionStop, Reason: f.cfg.Error("dead-letter", it.ID, errors.Join(ErrNoDeadLetters, reason))}
}

// carryOut does what a verdict says. Where that cannot be, it answers with the verdict to carry out instead. What nobody has
// in hand any more stays as it is: it was given up meanwhile.
func (f *flow) carryOut(it *Item, v Verdict, death *driver.Death) (instead Verdict, again bool) {
	switch {
	case it.state == lost:
		f.endLost(it)
		return v, false
	case !it.state.inHand():
		return v, false
	}
	switch v.Action {
	case ActionDone, ActionDrop:
		if v.Action == ActionDrop {
			f.count.Dropped++
		}
		f.settle(it, driver.Settlement{Action: driver.Done}, driver.BehindGoesOn)
	case ActionRetry:
		return f.retry(it, v)
	case ActionReject:
		owner := it.Owner
		f.talk.note(func() { f.obs.Rejected(owner, death, v.Reason) })
		f.settle(it, driver.Settlement{Action: driver.Reject, Attempt: int32(it.Attempt), Death: death}, driver.BehindGoesOn)
	case ActionStop:
		it.in.fail(v.Reason)
		f.giveBack(it)
	case ActionRelease:
		f.giveBack(it)
	case ActionHold:
		f.holdUntouched(it, v.After)
	}
	return v, false
}

// retry holds a retry here, or lets the service keep it.
func (f *flow) retry(it *Item, v Verdict) (instead Verdict, again bool) {
	if it.NearLimit() && !f.stopping() { // however it would wait, a crash or a stop would be a receive more
		return Verdict{Action: ActionReject, Reason: f.tooOften(it, "retried", v.Reason)}, true
	}
	if !f.holds(it, v.After) {
		f.starts.note(it, it.Attempt)
		f.settle(it, driver.Settlement{Action: driver.Retry, After: f.keepable(v.After), Attempt: int32(it.Attempt)}, f.lim.Behind)
		return v, false
	}
	if f.heldTooLong(it, v.After) {
		return Verdict{Action: ActionReject, Reason: &HeldTooLongError{f.lim.HoldMax, v.Reason}}, true
	}
	f.count.Retried++
	f.hold(it, v.After, it.Attempt)
	return v, false
}

func (f *flow) tooOften(it *Item, what string, err error) error {
	return &ReceivedTooOftenError{int(it.received), f.lim.MaxReceives, what, err}
}

// settle sends a verdict on its way and makes the next of the lane runnable, or sends the whole lane away behind it.
func (f *flow) settle(it *Item, st driver.Settlement, after driver.Behind) {
	next := it.laneNext
	if st.Action == driver.Done && f.finisher != nil {
		f.finisher.Finish(it.handle)
		f.move(it, evFinish)
		f.count.Handled++
	} else {
		f.move(it, evSettle)
		f.tell(verdictOn(it, st))
	}
	switch {
	case next == nil || next.state != behind: // what else the lane has is in one batch with it
	case after == driver.BehindGoesOn:
		f.goOn(next, true)
	case after == driver.BehindFollows:
		f.sendLane(next, st)
	default:
		f.sendLane(next, driver.Settlement{Action: driver.Release})
	}
}

// giveBack returns an item in hand untouched, and behind it its lane, in order.
func (f *flow) giveBack(it *Item) {
	if it.state == lost { // it is not ours to give
		f.endLost(it)
		return
	}
	goesOn := !f.stopping() && !it.src.dead
	if goesOn && !f.lim.Keeps {
		switch keep, away := f.breaker.keeps(it); {
		case keep:
			f.move(it, evUndo)
			f.goOn(it, true)
			return
		case away > 0 && f.lim.RetryMax > 0:
			f.sendBack(it, away)
			return
		}
	}
	switch {
	case goesOn && f.lim.Keeps:
		f.tellGivenBack(it)
		f.hold(it, max(keptPause, f.breaker.pause()), it.Attempt-1)
	case goesOn && f.laneNearLimit(it):
		f.toShelf(it)
		f.hold(it, keptPause, it.Attempt-1)
	default:
		f.untouched(it)
		f.settle(it, driver.Settlement{Action: driver.Release}, driver.BehindReleases)
	}
}

// untouched notes that an item goes back without having been started: that was no attempt.
func (f *flow) untouched(it *Item) {
	f.starts.note(it, it.Attempt-1)
	f.tellGivenBack(it)
}

func (f *flow) tellGivenBack(it *Item) {
	owner := it.Owner
	f.talk.note(func() { f.obs.GivenBack(owner) })
}

// sendBack gives an item in hand back untouched, for a while, and behind it its lane.
func (f *flow) sendBack(it *Item, pause time.Duration) {
	f.untouched(it)
	next := it.laneNext
	f.move(it, evSettle)
	v := f.awayFor(it, pause)
	f.tell(v)
	if f.lim.Behind != driver.BehindFollows {
		f.sendLane(next, driver.Settlement{Action: driver.Release})
	} else {
		f.sendLane(next, v.settlement())
	}
}

// sendAway gives an item without a lane back that never started, for a while.
func (f *flow) sendAway(it *Item, pause time.Duration) {
	f.untouched(it)
	f.move(it, evRelease)
	f.tell(f.awayFor(it, pause))
}

// awayFor is the verdict that keeps an untouched item away for a while.
func (f *flow) awayFor(it *Item, pause time.Duration) verdict {
	return verdict{it: it, action: driver.Retry, after: f.keepable(pause), attempt: int32(it.Attempt - 1), untouched: true}
}

// giveBackWaiting returns the waiting head of a lane, and behind it its lane, in order. While the session goes on, a lane near
// the service's limit is kept and tried again.
func (f *flow) giveBackWaiting(it *Item) {
	if f.stopping() || it.src.dead || !f.laneNearLimit(it) {
		f.sendLane(it, driver.Settlement{Action: driver.Release})
		return
	}
	f.toShelf(it)
	f.shelve(it, f.clock.now().plus(keptPause))
}

// sendLane settles what waits in a lane, from its waiting head on, as if nothing of it had been started.
func (f *flow) sendLane(head *Item, st driver.Settlement) {
	for it := head; it != nil && it.state.waiting(); {
		next := it.laneNext
		if it.src.dead || it.lost.Load() {
			f.move(it, evLose)
		} else {
			f.untouched(it)
			f.move(it, evRelease)
			v := verdictOn(it, st)
			v.attempt, v.untouched = int32(it.Attempt-1), true
			f.tell(v)
		}
		it = next
	}
}

// giveBackAll gives back heads of lanes that wait for a worker, and all that waits elsewhere.
func (f *flow) giveBackAll(heads []*Item) {
	f.giveBackHeld() // before those near the limit of receives join them
	for _, it := range heads {
		f.giveBackWaiting(it)
	}
	f.giveBackAside()
}

// giveBackHeld gives held retries back, with what is left of their delay where the service can keep that.
func (f *flow) giveBackHeld() {
	for len(f.retries) > 0 {
		f.giveBackRetry(f.retries[0])
	}
}

func (f *flow) giveBackRetry(it *Item) {
	rest := it.until.since(f.clock.now())
	if it.src.dead || f.lim.Keeps || rest <= f.lim.RetryMin || f.lim.RetryMax == 0 {
		f.sendLane(it, driver.Settlement{Action: driver.Release})
		return
	}
	f.untouched(it)
	next := it.laneNext
	f.move(it, evRelease)
	f.tell(f.awayFor(it, rest))
	f.sendLane(next, driver.Settlement{Action: driver.Release})
}

// giveBackAside gives back what waits for its tenant's share.
func (f *flow) giveBackAside() {
	if f.tenants == nil {
		return
	}
	for _, one := range f.tenants.by {
		for it := one.head; it != nil; it = one.head {
			f.giveBackWaiting(it)
		}
	}
}

// lose takes in that items are ours no more. All of them are marked first: one that is lost as well is not given back because it
// stands behind another.
func (f *flow) lose(its ...*Item) {
	for _, it := range its {
		if it.state != gone && !it.lost.Swap(true) {
			f.tellLost(it)
		}
	}
	for _, it := range its {
		switch {
		case it.state.waiting():
			f.drop(it)
		case it.state.inHand():
			f.move(it, evLose)
			if it.stint != nil {
				it.stint.interrupt(ErrLeaseLost)
			}
		}
	}
}

func (f *flow) tellLost(it *Item) {
	f.count.LeaseLost++
	owner := it.Owner
	f.talk.note(func() { f.obs.LeaseLost(owner) })
}

// drop disposes of a waiting item that is not ours any more. Those behind it in its lane go back: it may be handled elsewhere
// now, and they must not overtake it here.
func (f *flow) drop(it *Item) {
	next := it.laneNext
	f.move(it, evLose)
	f.sendLane(next, driver.Settlement{Action: driver.Release})
}

// endLost is drop for an item that was in hand until now.
func (f *flow) endLost(it *Item) {
	next := it.laneNext
	f.move(it, evReturn)
	f.sendLane(next, driver.Settlement{Action: driver.Release})
}

// undoBehind takes back into their lane what is in one batch with an item, and behind it.
func (f *flow) undoBehind(it *Item) {
	for it = it.laneNext; it != nil && f.move(it, evUndo); it = it.laneNext {
	}
}

// laneNearLimit says whether an item, or one behind it in its lane, is near the service's limit. Then it is kept rather than
// released, and only a stop gives it back.
func (f *flow) laneNearLimit(it *Item) bool {
	if f.lim.MaxReceives == 0 {
		return false
	}
	for ; it != nil; it = it.laneNext {
		if it.NearLimit() {
			return true
		}
	}
	return false
}

// tell queues a verdict. After the end of a session nobody is told any more, and the message comes again.
func (f *flow) tell(v verdict) {
	if !f.settler.Add(v) {
		f.refused(v, ErrClosed)
	}
}

// landed takes in that the service has verdicts.
func (f *flow) landed(vs []verdict) {
	for i := range vs {
		if v := &vs[i]; v.it.lost.Load() {
			f.refused(*v, ErrLeaseLost)
		} else {
			f.count.settled(v)
			f.move(v.it, evAnswer)
		}
	}
}

// refused takes in that the service has not taken a verdict: the message comes again.
func (f *flow) refused(v verdict, err error) {
	if errors.Is(err, driver.ErrLost) || v.it.lost.Load() {
		if !v.it.lost.Swap(true) {
			f.tellLost(v.it)
		}
		err = ErrLeaseLost
	}
	f.count.Unsettled++
	owner := v.it.Owner
	err = f.cfg.Error(v.action.String(), v.it.ID, err)
	f.talk.note(func() { f.obs.SettleFailed(owner, v.action, err) })
	f.move(v.it, evAnswer)
}
