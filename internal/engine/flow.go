package engine

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// flow moves the items of one session: the ways on from a state are methods here and in hold.go. All of it runs under
// the fleet's lock, which lock and unlock take and release.
//
// What follows from a move (the next of a lane may run, those behind an item go back with it) is not done by the method
// that moves, but written down as a step, and unlock takes one step after another. So no method calls itself by way of
// others.
type flow struct {
	ledger
	fleet   *Fleet
	cfg     *Config
	lim     driver.ReceiveLimits
	held    holder
	stints  stints
	settler *settler
	keeper  *keeper
	breaker *breaker // nil: there is none
	gate    gate
	starts  *startLog
	rates   rates
	polls   context.Context // ends when polling must
	clock   clock
	count   Counts
	talk    talk
	steps   []step
	untold  []verdict // that came after the end of the settler
}

// step is something that remains to be done with a waiting item before the lock is released.
type step struct {
	it  *Item
	gen uint32
	way way
	st  driver.Settlement // of wayAway
}

// way is what a step does.
type way uint8

const (
	wayOn   way = iota // it goes on
	wayAway            // it is settled, and its lane behind it
	wayBack            // it is given back, and its lane behind it, unless that is near the limit of receives
	wayHeld            // its held retry is given back
)

// keptPause is how long an item that was given back untouched waits where it cannot go back (a log keeps what it handed
// out): long enough that a handler that gives back again and again does not spin.
const keptPause = time.Second

func (f *flow) lock() { f.fleet.mu.Lock() }

// unlock takes the steps that remain, and tells what there is to tell once the lock is released.
func (f *flow) unlock() {
	f.takeSteps()
	f.ledger.verify()
	notes, orderly := f.talk.take(f.talk.activity(f))
	wake := f.fleet.toWake()
	f.fleet.mu.Unlock()
	f.fleet.wake(wake)
	for _, n := range notes {
		n()
	}
	if orderly {
		f.talk.tellInOrder(f)
	}
}

// takeSteps does what remains, and lets those go on who wait for a share that has become free.
func (f *flow) takeSteps() {
	for len(f.steps) > 0 || len(f.heirs) > 0 || len(f.untold) > 0 {
		for i := 0; i < len(f.steps); i++ {
			s := f.steps[i]
			if s.it.gen != s.gen || !s.it.state.waiting() {
				continue
			}
			switch s.way {
			case wayOn:
				f.goOn(s.it, true)
			case wayAway:
				f.sendLane(s.it, s.st)
			case wayBack:
				f.giveBackWaiting(s.it)
			case wayHeld:
				f.giveBackHeld(s.it)
			}
		}
		clear(f.steps)
		f.steps = f.steps[:0]
		for _, v := range f.untold {
			f.settler.refused(v, ErrClosed)
		}
		f.untold = nil
		if last := len(f.heirs) - 1; last >= 0 {
			if it := f.tenants.heir(f.heirs[last]); it != nil {
				f.goOn(it, true)
			} else {
				f.heirs = f.heirs[:last]
			}
		}
	}
}

// then writes down what is to be done with an item once the present move is over, if it waits then; nil: there is none.
func (f *flow) then(it *Item, w way) {
	if it != nil {
		f.steps = append(f.steps, step{it: it, gen: it.gen, way: w})
	}
}

// thenAway writes down that what waits in a lane, from its waiting head on, is to be settled; nil: there is nothing.
func (f *flow) thenAway(head *Item, st driver.Settlement) {
	if head != nil {
		f.steps = append(f.steps, step{head, head.gen, wayAway, st})
	}
}

// stopping says whether the session polls no more.
func (f *flow) stopping() bool { return f.polls.Err() != nil }

// goOn lets a waiting item run that is the first of its lane, as soon as its tenant's share and the bus allow. An item
// that must stay is not sent away because its tenant has too many here.
func (f *flow) goOn(it *Item, must bool) {
	switch {
	case it.src.dead:
		f.drop(it)
		return
	case f.queue.parked:
		f.giveBackWaiting(it)
		return
	case f.rates.limit() && f.waitForRate(it, must):
		return
	}
	switch to, pause := f.tenants.admit(it, must); to {
	case admitted:
		f.move(it, evReady)
	case surplus:
		f.sendAway(it, evRelease, pause)
	case waits, waitsBeside:
		if f.move(it, evWait); to == waitsBeside && it.held&hasPlace != 0 {
			f.ledger.shelve(it)
		}
	}
}

// waitForRate makes an item wait that may not start yet, and says whether it does. Surplus of a tenant that would wait
// for long goes back for a while, unless it must stay.
func (f *flow) waitForRate(it *Item, must bool) bool {
	now := f.clock.now()
	at := f.rates.slot(it, now)
	if at <= now {
		return false
	}
	room := at.since(now) <= max(f.lim.Lease/2, 2*minTenantPause) && f.held.toShelf(it)
	if !room && !must && it.tenantCounted && f.lim.RetryMax > 0 {
		f.sendAway(it, evRelease, f.rates.later(it, now))
	} else {
		f.held.shelve(it, at)
	}
	return true
}

// carryOut does what a verdict says about an item in hand. Where that cannot be, it answers with the verdict to carry
// out instead. What nobody has in hand any more stays as it is: it was given up meanwhile.
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
		f.talk.rejected(it, death, v.Reason)
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
	switch {
	case it.NearLimit() && !f.stopping(): // however it would wait, a crash or a stop would be a receive more
		return Verdict{Action: ActionReject, Reason: it.tooOften("retried", v.Reason)}, true
	case !f.held.wants(it, v.After):
		f.starts.note(it, it.Attempt)
		f.settle(it, driver.Settlement{Action: driver.Retry, After: keepable(&f.lim, v.After), Attempt: int32(it.Attempt)}, f.lim.Behind)
		return v, false
	case f.held.tooLong(it, v.After):
		return Verdict{Action: ActionReject, Reason: &HeldTooLongError{f.lim.HoldMax, v.Reason}}, true
	}
	f.count.Retried++
	f.held.hold(it, v.After, it.Attempt)
	return v, false
}

// keepable is a delay as the service can keep it.
func keepable(lim *driver.ReceiveLimits, after time.Duration) time.Duration {
	return min(max(after, lim.RetryMin), lim.RetryMax)
}

// settle sends a verdict on its way and makes the next of the lane runnable, or sends the whole lane away behind it.
func (f *flow) settle(it *Item, st driver.Settlement, after driver.Behind) {
	next := it.laneNext
	if st.Action == driver.Done && f.settler.finisher != nil {
		f.settler.finisher.Finish(it.handle)
		f.move(it, evFinish)
		f.count.Handled++
	} else {
		f.move(it, evSettle)
		v := verdictOn(it, st)
		// A service that keeps the order gives out no more of a lane until it has the last verdict on what it gave out.
		v.waits = st.Action == driver.Done && (next != nil || !f.cfg.Channel.Ordered)
		f.settler.tell(v)
	}
	switch after {
	case driver.BehindGoesOn:
		f.then(next, wayOn)
	case driver.BehindFollows:
		f.thenAway(next, st)
	case driver.BehindReleases:
		f.thenAway(next, driver.Settlement{Action: driver.Release})
	}
}

// giveBack returns an item in hand untouched, and behind it its lane, in order.
func (f *flow) giveBack(it *Item) {
	goesOn := !f.stopping() && !it.src.dead
	if goesOn && !f.lim.Keeps {
		switch keep, away := f.breaker.keeps(it); {
		case keep:
			f.move(it, evUndo)
			f.then(it, wayOn)
			return
		case away > 0 && f.lim.RetryMax > 0:
			f.sendAway(it, evSettle, away)
			return
		}
	}
	switch {
	case goesOn && f.lim.Keeps:
		f.talk.givenBack(it)
		f.held.hold(it, max(keptPause, f.breaker.pause()), it.Attempt-1)
	case goesOn && f.laneNearLimit(it):
		f.held.toShelf(it)
		f.held.hold(it, keptPause, it.Attempt-1)
	default:
		f.untouched(it)
		f.settle(it, driver.Settlement{Action: driver.Release}, driver.BehindReleases)
	}
}

// holdUntouched holds an item in hand whose handler could not begin its work: that was no attempt. Where there is no
// room for what waits, the service keeps it.
func (f *flow) holdUntouched(it *Item, after time.Duration) {
	if f.held.wants(it, min(after, f.lim.HoldBelow-1)) {
		f.held.hold(it, after, it.Attempt-1)
	} else {
		f.sendAway(it, evSettle, after)
	}
}

// untouched notes that an item goes back without having been started: that was no attempt.
func (f *flow) untouched(it *Item) {
	f.starts.note(it, it.Attempt-1)
	f.talk.givenBack(it)
}

// sendAway gives an item back untouched, for a while, and behind it its lane: one in hand is settled, one that waits is
// released.
func (f *flow) sendAway(it *Item, e event, pause time.Duration) {
	f.untouched(it)
	next := it.laneNext
	f.move(it, e)
	v := verdict{it: it, action: driver.Retry, after: keepable(&f.lim, pause), attempt: int32(it.Attempt - 1), untouched: true}
	f.settler.tell(v)
	behind := driver.Settlement{Action: driver.Release}
	if e == evSettle && f.lim.Behind == driver.BehindFollows {
		behind = v.settlement()
	}
	f.thenAway(next, behind)
}

// giveBackWaiting returns the waiting head of a lane, and behind it its lane, in order. While the session goes on, a
// lane near the service's limit is kept and tried again.
func (f *flow) giveBackWaiting(it *Item) {
	if f.stopping() || it.src.dead || !f.laneNearLimit(it) {
		f.thenAway(it, driver.Settlement{Action: driver.Release})
		return
	}
	f.held.toShelf(it)
	f.held.shelve(it, f.clock.now().plus(keptPause))
}

// giveBackHeld gives a held retry back, with what is left of its delay where the service can keep that.
func (f *flow) giveBackHeld(it *Item) {
	rest := it.until.since(f.clock.now())
	switch {
	case it.src.dead:
		f.drop(it)
	case f.lim.Keeps, rest <= f.lim.RetryMin, f.lim.RetryMax == 0:
		f.thenAway(it, driver.Settlement{Action: driver.Release})
	default:
		f.sendAway(it, evRelease, rest)
	}
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
			f.settler.tell(v)
		}
		it = next
	}
}

// giveBackAll gives back heads of lanes that wait for a worker, and all that waits elsewhere.
func (f *flow) giveBackAll(heads []*Item) {
	for _, it := range f.retries { // before those near the limit of receives join them
		f.then(it, wayHeld)
	}
	for _, it := range heads {
		f.then(it, wayBack)
	}
	if f.tenants == nil {
		return
	}
	for _, one := range f.tenants.by {
		for it := one.head; it != nil; it = it.lineNext {
			f.then(it, wayBack)
		}
	}
}

// lose takes in that items are ours no more. All of them are marked first: one that is lost as well is not given back
// because it stands behind another.
func (f *flow) lose(its ...*Item) {
	for _, it := range its {
		f.markLost(it)
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

// markLost notes that an item is ours no more.
func (f *flow) markLost(it *Item) {
	if it.state != gone && !it.lost.Swap(true) {
		f.count.LeaseLost++
		f.talk.leaseLost(it)
	}
}

// drop disposes of a waiting item that is not ours any more. Those behind it in its lane go back: it may be handled
// elsewhere now, and they must not overtake it here.
func (f *flow) drop(it *Item) {
	next := it.laneNext
	f.move(it, evLose)
	f.thenAway(next, driver.Settlement{Action: driver.Release})
}

// endLost is drop for an item that was in hand until now.
func (f *flow) endLost(it *Item) {
	next := it.laneNext
	f.move(it, evReturn)
	f.thenAway(next, driver.Settlement{Action: driver.Release})
}

// undoBehind takes back into their lane what is in one batch with an item, and behind it.
func (f *flow) undoBehind(it *Item) {
	for it = it.laneNext; it != nil && f.move(it, evUndo); it = it.laneNext {
	}
}

// laneNearLimit says whether an item, or one behind it in its lane, is near the service's limit. Then it is kept rather
// than released, and only a stop gives it back.
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
