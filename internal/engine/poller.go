package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/calls"
)

// pollGrace is how much longer than its own wait a poll may take before the watchdog ends it.
const pollGrace = 15 * time.Second

// EmptyPollEvery spaces polls that bring nothing: an endpoint that ignores how long a poll may wait, or a consumer that
// asks for no wait, would otherwise be asked thousands of times a second.
const EmptyPollEvery = 100 * time.Millisecond

// pollAgainLeast and pollAgainMost bound the pause after a poll that failed. The pause grows with the length of the
// outage, to pollAgainPart of it: messages that waited so long do not wait much longer afterwards.
const (
	pollAgainLeast = 500 * time.Millisecond
	pollAgainMost  = 10 * time.Second
	pollAgainPart  = 4
)

// pollPause is the pause after a poll that failed, when polls have failed for so long. Its second half is drawn, so
// that consumers that failed together do not come back together.
func pollPause(outage time.Duration) time.Duration {
	d := min(max(outage/pollAgainPart, pollAgainLeast), pollAgainMost)
	return d/2 + rand.N(d/2)
}

// pollers ask the service for messages. There is always one; others join while polls come back full and places are
// free, and leave when one does not. So an idle channel costs one long poll, whatever its concurrency.
type pollers struct {
	*service
	f     *flow
	seed  maphash.Seed  // of lanes' hashes
	guard func(func())  // keeps a panic from ending the process
	turn  chan struct{} // full while a poller waits for places
	wg    sync.WaitGroup

	// Guarded by the fleet's lock.
	n       int
	full    bool // the last poll came back full
	thrift  thrift
	failing time.Time // when the first poll failed of those that failed in a row; zero: the last one did not
}

// first is the poller that never leaves before the session does.
func (p *pollers) first() {
	var hand pollHand
	defer hand.drop()
	for !p.f.stopping() {
		p.guard(func() {
			for period := p.f.gate.enter(); period != nil; period = p.f.gate.enter() {
				if want := p.allowed(period, p.want()); want > 0 && p.reserve(period, want, true) {
					p.once(period, want, &hand)
					p.rest(period)
				}
			}
		})
	}
}

// rest is the pause between two polls that saves requests.
func (p *pollers) rest(period context.Context) {
	p.f.fleet.mu.Lock()
	wait := p.thrift.wait
	p.thrift.wait = 0
	p.f.fleet.mu.Unlock()
	_ = backoff.Sleep(period, wait) // ends early when the period does
}

// want is what one poll asks for.
func (p *pollers) want() int {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if p.f.breaker.probing() {
		return 1
	}
	n := min(p.f.lim.Batch, max(p.f.lim.Window, 1))
	if p.cfg.BatchSize > 0 {
		n = min(n, p.cfg.BatchSize)
	}
	return n
}

// allowed is how many of so many items the rate allows a poll to ask for. It waits until there are some; 0: ctx has
// ended.
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

// reserve waits for n places and for bytes, one poller after the other. It fails when ctx ends. Pollers other than the
// first leave as well when polls do not come back full any more, or when bytes are lacking.
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

// tryWaiting is what a poller does that waits for its places.
func (p *pollers) tryWaiting(ctx context.Context, n int, first bool) (ok, leave bool) {
	places := &p.f.places
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	leave = ctx.Err() != nil || !first && (!p.full || places.has(n) && !places.hasBytes(first)) || !p.f.rates.all.has(n, p.f.clock.now())
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

// take takes n places and as much of the rate, if there are. The caller holds the lock.
func (p *pollers) take(n int, first bool) bool {
	all := &p.f.rates.all
	ok := all.has(n, p.f.clock.now()) && p.f.places.reserve(n, first)
	if ok {
		all.lend(n)
	}
	return ok
}

// join adds a poller while that is worth it.
func (p *pollers) join(period context.Context) {
	want := p.want()
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
			for p.once(period, want, &hand) && (p.tryReserve(want) || p.reserve(period, want, false)) {
			}
		})
	})
}

// most is how many pollers there may be: as many as the service allows, and where it can have more places than it knows
// of, as many as fill those.
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

// once makes one poll with the places its caller has reserved, and says whether it came back full. period ends with the
// session, or with the next hold.
func (p *pollers) once(period context.Context, want int, hand *pollHand) (full bool) {
	f := p.f
	rest, brought := want, int64(0) // places that nothing has filled, and bytes
	came := 0
	f.lock()
	mark, unseen := f.sources.mark(), f.count.unseen()
	f.unlock()
	defer func() { // also when something panics
		f.lock()
		f.places.giveBack(rest)
		f.places.polled(brought)
		f.rates.all.giveBack(want, came)
		f.unlock()
	}()
	began := time.Now()
	got, err := p.receive(period, want, hand)
	f.lock()
	f.count.Polls++
	came = len(got)
	full = came >= want
	p.full = full
	if err == nil {
		p.thrift.polled(got, want, p.cfg.Delay, f.clock)
	}
	if f.places.ahead.polled(full, time.Since(began), f.clock.now(), f.queue.limit, f.queue.alone) {
		f.places.changed()
	}
	f.unlock()
	brought = p.accept(got, hand, &rest)
	f.lock()
	f.sources.sweep(mark)
	f.breaker.polled(len(got))
	f.unlock()
	if full {
		p.join(period)
	}
	p.obs.Polled()
	clear(got)
	switch {
	case period.Err() != nil:
		return false
	case err != nil:
		p.backOff(period, err)
		return false
	}
	f.lock()
	p.failing = time.Time{}
	nothing := len(got) == 0 && f.count.unseen() == unseen
	f.talk.polled(len(got) == 0, f.running == 0)
	f.unlock()
	if nothing { // else it brought something, if nothing to handle
		_ = backoff.Sleep(period, EmptyPollEvery-time.Since(began)) // ends early when the period does
	}
	return full
}

// pollHand is what one poller uses again from poll to poll.
type pollHand struct {
	buf    []driver.Delivery
	items  []*Item
	period context.Context // that ctx derives from
	ctx    context.Context // of a poll; ends when the watchdog says so
	cancel context.CancelCauseFunc
	dog    *time.Timer
}

// watched is a context for one poll of at most so long.
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

// receive polls the service, under the eyes of the watchdog.
func (p *pollers) receive(period context.Context, want int, hand *pollHand) ([]driver.Delivery, error) {
	ctx := hand.watched(period, p.cfg.Receiver.Wait+pollGrace)
	p.cfg.Calls.Begin(calls.Poll, 1)
	got, err := p.recv.Receive(ctx, want, hand.buf[:0])
	hand.dog.Stop()
	hand.buf = got
	if errors.Is(context.Cause(ctx), errStalled) && len(got) == 0 {
		err = &driver.Error{Class: driver.Transient, Err: errStalled}
	}
	p.cfg.Calls.End(calls.Poll, err)
	return got, err
}

var errStalled = fmt.Errorf("the poll was not answered within its wait and %v", pollGrace)

func (p *pollers) backOff(period context.Context, err error) {
	wait := pollPause(p.failed(time.Now()))
	p.obs.ReceiveFailed("receiving", p.cfg.Error("receive", "", err), wait)
	if p.provisions(err) {
		if err := p.provisionAgain(period); err != nil && period.Err() == nil {
			p.obs.ProvisionFailed(err, wait)
		}
	}
	_ = backoff.Sleep(period, wait) // ends early when the period does, and the caller looks at that
}

// failed says for how long polls have failed by now.
func (p *pollers) failed(now time.Time) time.Duration {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if p.failing.IsZero() {
		p.failing = now
	}
	return now.Sub(p.failing)
}
