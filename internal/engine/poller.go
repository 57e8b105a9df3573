package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/calls"
)

// pollGrace is how much longer than its wait a poll may take before the watchdog ends it.
const pollGrace = 15 * time.Second

// EmptyPollEvery is the least time between polls that return nothing. Without it, an endpoint that ignores the wait, or
// a consumer without a wait, would cause thousands of requests a second.
const EmptyPollEvery = 100 * time.Millisecond

// pollAgainLeast and pollAgainMost bound the pause after a failed poll. The pause is a quarter of the outage so far, so
// that messages wait only a little longer than the outage.
const (
	pollAgainLeast = 500 * time.Millisecond
	pollAgainMost  = 10 * time.Second
	pollAgainPart  = 4
)

// pausedPoll is the longest time between polls of a channel that is paused at the service. They cost as many requests
// as those of an idle channel.
const pausedPoll = 20 * time.Second

const (
	// pollsApart is how much longer than two full polls another one is open that is known to wait.
	pollsApart = 50 * time.Millisecond
	// tripWeight is the divisor of a longer poll in the moving average.
	tripWeight = 8
)

// pollPause is the pause after a failed poll, when polls have failed for so long. Half of it is random, so that
// consumers that failed together do not continue at the same time.
func pollPause(outage time.Duration) time.Duration {
	d := min(max(outage/pollAgainPart, pollAgainLeast), pollAgainMost)
	return d/2 + rand.N(d/2)
}

// pollers request messages. There is always one. Others join while polls are full and places are free, and leave when a
// poll is not full; their polls are brief. So an idle channel costs one long poll, whatever its concurrency, and at a
// stop few polls are open.
type pollers struct {
	*service
	f     *flow
	seed  maphash.Seed  // of lanes' hashes
	guard func(func())  // recovers panics
	turn  chan struct{} // full while a poller waits for places
	wg    sync.WaitGroup

	// Guarded by the fleet's lock.
	n       int
	open    []*pollHand   // of the polls that are open
	trip    time.Duration // of full polls: at once the shortest, otherwise a moving average; 0: there was none
	full    bool          // the last poll was full
	thrift  thrift
	failing time.Time // when the first of the polls failed that failed in a row; zero: the last one succeeded
}

// first is the poller that runs as long as the session.
func (p *pollers) first() {
	var hand pollHand
	defer hand.drop()
	for !p.f.stopping() {
		p.guard(func() {
			for period := p.f.gate.enter(); period != nil; period = p.f.gate.enter() {
				if want := p.allowed(period, p.want()); want > 0 && p.reserve(period, want, true) {
					p.once(period, driver.Ask{Max: want}, &hand)
					p.rest(period)
				}
			}
		})
	}
}

// rest pauses between two polls, to save requests.
func (p *pollers) rest(period context.Context) {
	p.f.fleet.mu.Lock()
	wait := p.thrift.wait
	p.thrift.wait = 0
	p.f.fleet.mu.Unlock()
	_ = backoff.Sleep(period, wait) // returns early when the period ends
}

// want is how many messages a poll requests.
func (p *pollers) want() int {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if p.f.breaker.probing() {
		return 1
	}
	n := p.f.places.asks(min(p.f.lim.Batch, max(p.f.lim.Window, 1)))
	if p.cfg.BatchSize > 0 {
		n = min(n, p.cfg.BatchSize)
	}
	return n
}

// allowed is how many messages the rate allows a poll to request, at most most. It waits until there are some; 0: ctx
// has ended.
func (p *pollers) allowed(ctx context.Context, most int) int {
	for ctx.Err() == nil {
		p.f.fleet.mu.Lock()
		n, wait := p.f.rates.all.next(most, p.f.clock.now())
		p.f.fleet.mu.Unlock()
		if n > 0 {
			return n
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.f.rates.changed:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return 0
}

// reserve waits for n places and for bytes, one poller after another. It returns false when ctx ends. Pollers other
// than the first also give up when polls are not full any more, or when bytes are missing.
func (p *pollers) reserve(ctx context.Context, n int, first bool) bool {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-p.turn }()
	for {
		ok, leave := p.tryWaiting(ctx, n, first)
		if ok || leave {
			return ok
		}
		select {
		case <-p.f.places.wake:
		case <-ctx.Done():
		}
	}
}

// tryWaiting is one step of a poller that waits for its places.
func (p *pollers) tryWaiting(ctx context.Context, n int, first bool) (ok, leave bool) {
	places := &p.f.places
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	leave = ctx.Err() != nil || !first && (!p.full || places.has(n) && !places.hasBytes(first)) ||
		!p.f.rates.all.has(n, p.f.clock.now())
	ok = !leave && p.take(n, first)
	places.waits(n, !ok && !leave)
	return ok, leave
}

// tryReserve is reserve for pollers that do not wait.
func (p *pollers) tryReserve(n int) bool {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	return p.take(n, false)
}

// take takes n places and as many tokens of the rate, if there are. The caller holds the lock.
func (p *pollers) take(n int, first bool) bool {
	all := &p.f.rates.all
	ok := all.has(n, p.f.clock.now()) && p.f.places.reserve(n, first)
	if ok {
		all.lend(n)
	}
	return ok
}

// joinAtOnce is how many pollers join after a full poll. With three there are soon enough, also with a long round trip,
// and only few of them find nothing if the queue is empty.
const joinAtOnce = 3

// join adds pollers if they are useful.
func (p *pollers) join(period context.Context) {
	want := p.want()
	for range joinAtOnce {
		p.joinOne(period, want)
	}
}

func (p *pollers) joinOne(period context.Context, want int) {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if p.n >= p.most(want) || p.f.breaker.probing() || !p.take(want, false) {
		return
	}
	p.n++
	p.wg.Go(func() {
		defer p.left()
		var hand pollHand
		defer hand.drop()
		p.guard(func() {
			ask := driver.Ask{Max: want, Brief: true}
			for p.once(period, ask, &hand) && (p.tryReserve(want) || p.reserve(period, want, false)) {
			}
		})
	})
}

// most is how many pollers there may be: as many as the service allows, or, with places ahead, as many as fill the
// places.
func (p *pollers) most(batch int) int {
	n := max(1, p.f.lim.Polls)
	if p.f.places.ahead.extra > 0 {
		n = max(n, p.f.places.pollsWorth(batch))
	}
	return n
}

func (p *pollers) left() {
	p.f.fleet.mu.Lock()
	p.n--
	p.f.fleet.mu.Unlock()
}

// once makes one poll with the places that its caller has reserved, and reports whether it was full. period ends with
// the session, or with the next hold.
func (p *pollers) once(period context.Context, ask driver.Ask, hand *pollHand) (full bool) {
	f, want, lent := p.f, ask.Max, ask.Max
	rest, brought := want, int64(0) // places that nothing has filled, and bytes
	f.lock()
	opened := p.begin(period, hand)
	mark, unseen := f.sources.mark(), f.count.unseen()
	f.unlock()
	defer func() { // also if something panics
		f.lock()
		if opened {
			p.end(hand)
		}
		f.places.unreserve(rest)
		f.places.polled(brought)
		f.rates.all.repay(lent)
		f.unlock()
	}()
	if !opened {
		return false
	}
	began := time.Now()
	got, err := p.receive(period, ask, hand)
	poll := Poll{Asked: want, Began: began, Took: time.Since(began)}
	f.lock()
	f.count.Polls++
	full = len(got) >= want
	f.rates.all.repay(lent)
	lent = 0
	p.full = full
	if err == nil {
		p.thrift.polled(got, want, p.cfg.Delay, f.clock)
	}
	if f.places.ahead.polled(full, poll.Took, f.clock.now(), f.queue.limit, f.queue.alone) {
		f.places.changed()
	}
	f.unlock()
	brought = p.accept(got, hand, &rest, &poll)
	poll.Bytes = brought
	f.lock()
	p.end(hand) // not at the end of once, which may pause: a pause is no open poll
	opened = false
	f.sources.sweep(mark)
	f.breaker.polled(len(got))
	f.unlock()
	if full && !p.otherWaits(hand) {
		p.join(period)
	}
	if poll.Err = err; period.Err() != nil {
		poll.Err = nil // a stop or a pause has ended it
	}
	p.obs.Polled(poll)
	clear(got)
	switch {
	case period.Err() != nil:
		return false
	case errors.Is(err, driver.ErrPaused):
		p.waitPaused(period, err)
		return false
	case err != nil:
		p.backOff(period, err)
		return false
	}
	f.lock()
	p.failing = time.Time{}
	f.talk.resumed(began)
	nothing := len(got) == 0 && f.count.unseen() == unseen
	if !ask.Brief || len(got) > 0 { // an empty brief poll is no sign of an idle channel
		f.talk.polled(len(got) == 0, f.running == 0)
	}
	f.unlock()
	if nothing { // otherwise the poll returned messages, or the backend discarded some
		_ = backoff.Sleep(period, EmptyPollEvery-time.Since(began)) // returns early when the period ends
	}
	return full
}

// begin counts an open poll, unless its period has ended. The caller holds the lock.
func (p *pollers) begin(period context.Context, hand *pollHand) bool {
	if period.Err() != nil {
		return false
	}
	hand.began, hand.at = p.f.clock.now(), len(p.open)
	p.open = append(p.open, hand)
	p.f.gate.polls++
	return true
}

// end counts the poll as ended, when its deliveries are accepted. The caller holds the lock.
func (p *pollers) end(hand *pollHand) {
	last := len(p.open) - 1
	p.open[hand.at], p.open[last].at = p.open[last], hand.at
	p.open[last] = nil
	p.open = p.open[:last]
	p.f.gate.pollEnds()
}

// otherWaits is called when a poll has returned full. It reports whether another one is open for much longer than full
// polls take. Then that one waits, so the channel has nothing more, and further polls would find nothing.
func (p *pollers) otherWaits(hand *pollHand) bool {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	now := p.f.clock.now()
	if took := now.since(hand.began); p.trip == 0 || took < p.trip {
		p.trip = took
	} else {
		p.trip += (took - p.trip) / tripWeight
	}
	return slices.ContainsFunc(p.open, func(other *pollHand) bool {
		return other != hand && now.since(other.began) > 2*p.trip+pollsApart
	})
}

// pollHand has what a poller reuses from poll to poll.
type pollHand struct {
	began  moment // of the open poll
	at     int    // index among the open ones
	buf    []driver.Delivery
	items  []*Item
	period context.Context // parent of ctx
	ctx    context.Context // of a poll; the watchdog may cancel it
	cancel context.CancelCauseFunc
	dog    *time.Timer
}

// watched returns a context for one poll of at most limit.
func (h *pollHand) watched(period context.Context, limit time.Duration) context.Context {
	if h.ctx == nil || h.period != period || h.ctx.Err() != nil {
		h.drop()
		ctx, cancel := context.WithCancelCause(period)
		h.period, h.ctx, h.cancel = period, ctx, cancel
		h.dog = time.AfterFunc(limit, func() { cancel(errStalled) })
		return ctx
	}
	h.dog.Reset(limit)
	return h.ctx
}

func (h *pollHand) drop() {
	if h.ctx != nil {
		h.dog.Stop()
		h.cancel(nil)
		h.ctx = nil
	}
}

// receive polls the service, with the watchdog.
func (p *pollers) receive(period context.Context, ask driver.Ask, hand *pollHand) ([]driver.Delivery, error) {
	ctx := hand.watched(period, ask.Wait(p.cfg.Receiver.Wait)+pollGrace)
	p.cfg.Calls.Begin(calls.Poll, 1)
	got, err := p.recv.Receive(ctx, ask, hand.buf[:0])
	hand.dog.Stop()
	hand.buf = got
	if errors.Is(context.Cause(ctx), errStalled) && len(got) == 0 {
		err = &driver.Error{Class: driver.Transient, Err: errStalled}
	}
	if errors.Is(err, driver.ErrPaused) {
		p.cfg.Calls.End(calls.Poll, nil) // the service has answered, and nothing is wrong
	} else {
		p.cfg.Calls.End(calls.Poll, err)
	}
	return got, err
}

var errStalled = fmt.Errorf("the poll was not answered within its wait and %v", pollGrace)

// waitPaused waits until the service is asked again whether the channel is still paused.
func (p *pollers) waitPaused(period context.Context, why error) {
	p.f.lock()
	p.failing = time.Time{}
	p.f.talk.paused(why, time.Now())
	p.f.unlock()
	_ = backoff.Sleep(period, pausedPoll/2+rand.N(pausedPoll/2)) // returns early when the period ends
}

func (p *pollers) backOff(period context.Context, err error) {
	wait := pollPause(p.failed(time.Now()))
	p.obs.ReceiveFailed("receiving", p.cfg.Error("receive", "", err), wait)
	if p.provisions(err) {
		if err := p.provisionAgain(period); err != nil && period.Err() == nil {
			p.cfg.Log.Warn("provisioning failed; it will be tried again", "error", err, "in", wait)
		}
	}
	_ = backoff.Sleep(period, wait) // returns early when the period ends, which the caller checks
}

// failed returns for how long polls have failed.
func (p *pollers) failed(now time.Time) time.Duration {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if p.failing.IsZero() {
		p.failing = now
	}
	return now.Sub(p.failing)
}

const (
	// thriftPart and thriftMost bound the pause between two polls: a part of the tolerated delay, and at most as long
	// as an open poll takes, so that a pause does not look like a stall.
	thriftPart = 20
	thriftMost = 20 * time.Second
	// thriftFull is how much of a poll a pause should fill. Other pollers would join after a full poll.
	thriftFull = 0.8
	// thriftWeight is the weight of the earlier rate in the moving average.
	thriftWeight = 4
)

// thrift makes pauses between polls, so that each returns more messages. A service that keeps a poll open answers as
// soon as there is one message, so messages that come one by one would cost a request each. Guarded by the fleet's
// lock.
type thrift struct {
	tolerance time.Duration // 0: no pauses
	rate      float64       // messages that come in a nanosecond, a moving average
	at        moment        // of the last answer
	wait      time.Duration // until the next poll
}

// polled is called with the answer of a poll that requested want messages.
func (t *thrift) polled(got []driver.Delivery, want int, delay time.Duration, clock clock) {
	if t.tolerance == 0 {
		return
	}
	now, before := clock.now(), t.at
	t.at, t.wait = now, 0
	if before == noMoment {
		return // the rate is unknown
	}
	rate := float64(len(got)) / float64(max(now.since(before), time.Millisecond))
	if t.rate == 0 {
		t.rate = rate
	}
	t.rate += (rate - t.rate) / thriftWeight
	most := min(t.tolerance/thriftPart, thriftMost)
	switch {
	case len(got) == 0, len(got) >= want, oldest(got, delay, clock.time(now)) > t.tolerance/2-most:
		return
	}
	if fill := thriftFull * float64(want) / t.rate; fill < float64(most) {
		most = time.Duration(fill)
	}
	t.wait = most
}

// oldest is the age of the oldest message that was not received before. Messages that were received before have waited
// for their next attempt.
func oldest(got []driver.Delivery, delay time.Duration, now time.Time) (age time.Duration) {
	for i := range got {
		if got[i].Received <= 1 && !got[i].SentAt.IsZero() {
			age = max(age, now.Sub(got[i].SentAt)-delay)
		}
	}
	return age
}
