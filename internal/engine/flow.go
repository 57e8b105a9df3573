package engine

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// flow moves the items of one session. Its methods, here and in hold.go, are the steps from each state. All of them run
// under the fleet's lock, which lock and unlock take and release.
//
// A method does not call others for the consequences of a move (the next item of the lane can start, the items behind a
// released one are released). It adds a step to a list, and unlock handles one step after another. So no method calls
// itself indirectly.
type flow struct {
	ledger
	fleet   *Fleet
	cfg     *Config
	lim     driver.ReceiveLimits
	held    holder
	stints  stints
	settler *settler
	keeper  *keeper
	breaker *breaker // nil: the session has none
	gate    gate
	starts  *startLog
	rates   rates
	polls   context.Context // ends when polling must end
	clock   clock
	count   Counts
	talk    talk
	steps   []step
	untold  []verdict // verdicts after the end of the settler
}

// step is what remains to be done with a waiting item before the lock is released.
type step struct {
	it  *Item
	gen uint32
	way way

	action driver.Action // of waySettle
	after  time.Duration
}

// way is the kind of a step.
type way uint8

const (
	wayReady       way = iota // the item can start
	waySettle                 // the item and its lane are settled
	wayRelease                // the item and its lane are released, unless they are near the limit of receives
	wayReleaseHeld            // the held retry is released
)

// keptPause is how long a released item waits that cannot be returned to the service, as on a log. It is long enough
// that a handler which releases again and again does not spin.
const keptPause = time.Second

func (f *flow) lock() { f.fleet.mu.Lock() }

// unlock handles the steps, releases the lock, and then reports to the observer.
func (f *flow) unlock() {
	f.takeSteps()
	f.ledger.verify()
	notes, orderly := f.talk.take(f.talk.activity(f))
	f.fleet.unlock()
	for _, n := range notes {
		n.tell(f.talk.obs, n.owner)
	}
	if orderly {
		f.talk.tellInOrder(f)
	}
}

// takeSteps handles the steps that remain, and lets items start when a part of their tenant's share has become free.
func (f *flow) takeSteps() {
	for len(f.steps) > 0 || len(f.heirs) > 0 || len(f.untold) > 0 {
		for i := 0; i < len(f.steps); i++ {
			s := f.steps[i]
			if s.it.gen != s.gen || !s.it.state.waiting() {
				continue
			}
			switch s.way {
			case wayReady:
				f.ready(s.it, true)
			case waySettle:
				f.settleLane(s.it, s.action, s.after)
			case wayRelease:
				f.releaseWaiting(s.it)
			case wayReleaseHeld:
				f.releaseHeld(s.it)
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
				f.ready(it, true)
			} else {
				f.heirs = f.heirs[:last]
			}
		}
	}
}

// then adds a step for an item, for the end of the present move. The step is skipped if the item does not wait then.
// nil: no step.
func (f *flow) then(it *Item, w way) {
	if it != nil {
		f.steps = append(f.steps, step{it: it, gen: it.gen, way: w})
	}
}

// thenSettle adds a step that settles a lane, from its waiting head on. nil: no step.
func (f *flow) thenSettle(head *Item, action driver.Action, after time.Duration) {
	if head != nil {
		f.steps = append(f.steps, step{head, head.gen, waySettle, action, after})
	}
}

// stopping reports whether the session has stopped polling.
func (f *flow) stopping() bool { return f.polls.Err() != nil }

// ready lets the waiting head of a lane start as soon as its tenant's share and the bus allow it. With must, the item
// is not released because its tenant has too many.
func (f *flow) ready(it *Item, must bool) {
	switch {
	case it.src.dead:
		f.drop(it, evLose)
		return
	case f.queue.parked:
		f.releaseWaiting(it)
		return
	case f.rates.limit() && f.held.forRate(it, must):
		return
	}
	switch to, pause := f.tenants.admit(it, must); to {
	case admitted:
		f.move(it, evReady)
	case surplus:
		f.releaseAfter(it, evRelease, pause)
	case waits, waitsBeside:
		if f.move(it, evWait); to == waitsBeside && it.held&hasPlace != 0 {
			f.ledger.shelve(it)
		}
	}
}

// carryOut carries out a prepared verdict on an item in hand. An item that is no longer in hand is not changed: it was
// abandoned meanwhile.
func (f *flow) carryOut(it *Item, v Verdict) {
	switch {
	case it.state == lost:
		f.drop(it, evReturn)
		return
	case !it.state.inHand():
		return
	}
	if v.Expired {
		f.count.Expired++
		f.talk.about(it, Observer.Expired)
	}
	switch v.Action {
	case ActionDone:
		f.done(it)
	case ActionDrop:
		f.count.Dropped++
		f.done(it)
	case ActionRetry:
		f.retry(it, v)
	case ActionReject:
		f.talk.about(it, func(o Observer, owner any) { o.Rejected(owner, v.death, v.Reason) })
		f.settle(verdict{
			it: it, action: driver.Reject, attempt: int32(it.Attempt), death: v.death,
		}, driver.BehindGoesOn)
	case ActionStop:
		it.in.fail(v.Reason)
		f.release(it)
	case ActionRelease:
		f.release(it)
	case ActionHold:
		f.holdUntouched(it, v.After)
	}
}

// done settles an item as handled.
func (f *flow) done(it *Item) {
	switch {
	case it.state == lost:
		f.drop(it, evReturn)
	case it.state.inHand():
		f.settle(verdict{it: it, action: driver.Done}, driver.BehindGoesOn)
		if it.Handled != nil && !f.cfg.TellOwners {
			it.Owner = it.Handled
		}
	}
}

// retry holds a retry, or leaves it to the service.
func (f *flow) retry(it *Item, v Verdict) {
	if !f.held.wants(it, v.After) {
		f.starts.note(it, it.Attempt)
		f.settle(verdict{
			it: it, action: driver.Retry, after: keepable(&f.lim, v.After), attempt: int32(it.Attempt), first: it.first,
		}, f.lim.Behind)
		return
	}
	if it.first == noMoment {
		it.first = f.clock.now()
	}
	f.count.Retried++
	f.held.hold(it, v.After, it.Attempt)
}

// keepable is the nearest delay that the service can keep.
func keepable(lim *driver.ReceiveLimits, after time.Duration) time.Duration {
	return min(max(after, lim.RetryMin), lim.RetryMax)
}

// settle queues a verdict. The next item of the lane can start, or the whole lane is settled behind it.
func (f *flow) settle(v verdict, behind driver.Behind) {
	it := v.it
	next := it.laneNext
	if v.action == driver.Done && f.settler.finisher != nil {
		f.settler.finisher.Finish(it.handle)
		f.move(it, evFinish)
		f.count.Handled++
	} else {
		f.move(it, evSettle)
		// A service that keeps the order delivers no more of a lane until it has all settlements of what it has
		// delivered.
		v.waits = v.action == driver.Done && (next != nil || !f.cfg.Channel.Ordered)
		f.settler.tell(v)
	}
	switch behind {
	case driver.BehindGoesOn:
		f.then(next, wayReady)
	case driver.BehindFollows:
		f.thenSettle(next, v.action, v.after)
	case driver.BehindReleases:
		f.thenSettle(next, driver.Release, 0)
	}
}

// release releases an item in hand, and the lane behind it, in order.
func (f *flow) release(it *Item) {
	if f.gate.keeps && !it.src.dead {
		f.move(it, evUndo)
		f.then(it, wayRelease)
		return
	}
	goesOn := !f.stopping() && !it.src.dead
	if goesOn && !f.lim.Keeps {
		switch keep, away := f.breaker.keeps(it); {
		case keep:
			f.move(it, evUndo)
			f.then(it, wayReady)
			return
		case away > 0 && f.lim.RetryMax > 0:
			f.releaseAfter(it, evSettle, away)
			return
		}
	}
	switch {
	case goesOn && f.lim.Keeps:
		f.talk.about(it, Observer.Released)
		f.held.hold(it, max(keptPause, f.breaker.pause()), it.Attempt-1)
	case goesOn && it.laneNearLimit():
		f.held.toShelf(it, false)
		f.held.hold(it, keptPause, it.Attempt-1)
	case !it.src.dead && f.spaces(it):
		f.releaseAfter(it, evSettle, nearLimitPause)
	default:
		f.untouched(it)
		f.settle(verdict{it: it, action: driver.Release}, driver.BehindReleases)
	}
}

// spaces reports whether the release of a lane is delayed by nearLimitPause.
func (f *flow) spaces(it *Item) bool {
	return f.stopping() && f.lim.RetryMax > 0 && it.laneNearLimit()
}

// nearLimitPause delays the release at a stop of a message near the service's limit of receives. Without it, processes
// that stop together would pass the message on until the service moves it to the dead letters.
const nearLimitPause = 30 * time.Second

// holdUntouched holds an item in hand whose handler could not begin; no attempt is counted. If the shelf has no room,
// the service keeps it, unless the next receives would make the service move it to the dead letters: then it is held in
// its place.
func (f *flow) holdUntouched(it *Item, after time.Duration) {
	if f.held.wants(it, min(after, f.lim.HoldBelow-1)) || it.laneNearLimit() {
		f.held.hold(it, after, it.Attempt-1)
	} else {
		f.releaseAfter(it, evSettle, after)
	}
}

// untouched records that an item is released without an attempt.
func (f *flow) untouched(it *Item) {
	f.starts.note(it, it.Attempt-1)
	f.talk.about(it, Observer.Released)
}

// releaseAfter releases an item with a delay, and the lane behind it. An item in hand is settled, and a waiting item is
// released.
func (f *flow) releaseAfter(it *Item, e event, pause time.Duration) {
	f.untouched(it)
	next := it.laneNext
	f.move(it, e)
	v := verdict{
		it: it, action: driver.Retry, after: keepable(&f.lim, pause), attempt: int32(it.Attempt - 1),
		first: it.first, untouched: true,
	}
	f.settler.tell(v)
	if e == evSettle && f.lim.Behind == driver.BehindFollows {
		f.thenSettle(next, v.action, v.after)
	} else {
		f.thenSettle(next, driver.Release, 0)
	}
}

// releaseWaiting releases the waiting head of a lane, and the lane behind it, in order. While polls are open that
// would receive them again, they wait on the bus. While the session continues, a lane near the service's limit is kept
// and tried again.
func (f *flow) releaseWaiting(it *Item) {
	switch {
	case f.gate.keeps && !it.src.dead:
		f.move(it, evReady)
	case it.src.dead, f.stopping() && !f.spaces(it), !it.laneNearLimit():
		f.thenSettle(it, driver.Release, 0)
	case f.spaces(it):
		f.releaseAfter(it, evRelease, nearLimitPause)
	default:
		f.held.toShelf(it, false)
		f.held.shelve(it, f.clock.now().plus(keptPause))
	}
}

// releaseHeld releases a held retry, with the rest of its delay if the service can keep it. An item that would start
// within a second, because of a rate, is released at once: services count in seconds.
func (f *flow) releaseHeld(it *Item) {
	rest := it.until.since(f.clock.now())
	switch {
	case it.src.dead:
		f.drop(it, evLose)
	case f.spaces(it):
		f.releaseAfter(it, evRelease, max(rest, nearLimitPause))
	case f.lim.Keeps, rest <= f.lim.RetryMin, f.lim.RetryMax == 0, it.counted && rest < time.Second:
		f.thenSettle(it, driver.Release, 0)
	default:
		f.releaseAfter(it, evRelease, rest)
	}
}

// settleLane settles a lane, from its waiting head on, without counting attempts.
func (f *flow) settleLane(head *Item, action driver.Action, after time.Duration) {
	for it := head; it != nil && it.state.waiting(); {
		next := it.laneNext
		if it.src.dead || it.lost.Load() {
			f.move(it, evLose)
		} else {
			f.untouched(it)
			f.move(it, evRelease)
			v := verdict{it: it, action: action, after: after, attempt: int32(it.Attempt - 1), untouched: true}
			if action == driver.Retry {
				v.first = it.first
			}
			f.settler.tell(v)
		}
		it = next
	}
}

// releaseAll releases the given heads of lanes, and everything that waits elsewhere.
func (f *flow) releaseAll(heads []*Item) {
	for _, it := range f.retries { // before those near the limit of receives are added
		f.then(it, wayReleaseHeld)
	}
	for _, it := range heads {
		f.then(it, wayRelease)
	}
	if f.tenants == nil {
		return
	}
	for _, one := range f.tenants.by {
		for it := one.head; it != nil; it = it.lineNext {
			f.then(it, wayRelease)
		}
	}
}

// lose records that leases of items have ended. It marks all of them first, so that none is released because it is
// behind another one.
func (f *flow) lose(its ...*Item) {
	for _, it := range its {
		if it.stint != nil {
			f.stints.split(it.stint, f.clock.now())
		}
		f.markLost(it)
	}
	for _, it := range its {
		switch {
		case it.state.waiting():
			f.drop(it, evLose)
		case it.state.inHand():
			f.move(it, evLose)
			if it.stint != nil {
				it.stint.interrupt(ErrLeaseLost)
			}
		}
	}
}

// markLost records that the lease of an item has ended.
func (f *flow) markLost(it *Item) {
	if it.state != gone && !it.lost.Swap(true) {
		f.count.LeaseLost++
		f.talk.about(it, Observer.LeaseLost)
	}
}

// drop ends an item whose lease or source has ended: a waiting one (evLose), or one that was in hand until now
// (evReturn). The items behind it in its lane are released: another consumer may handle it now, and they must not
// overtake it.
func (f *flow) drop(it *Item, e event) {
	next := it.laneNext
	f.move(it, e)
	f.thenSettle(next, driver.Release, 0)
}

// undoBehind takes the items of a batch that are behind an item back into their lane.
func (f *flow) undoBehind(it *Item) {
	for it = it.laneNext; it != nil && it.state.inHand(); it = it.laneNext {
		it.part()
		f.move(it, evUndo)
	}
}
