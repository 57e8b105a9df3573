package godwit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// pollGrace is how much longer than its own wait a poll may take before the watchdog ends it.
const pollGrace = 15 * time.Second

// emptyPollEvery spaces polls that bring nothing: an endpoint that ignores how long a poll may wait, or a consumer that
// asks for no wait, would otherwise be asked thousands of times a second.
const emptyPollEvery = 100 * time.Millisecond

// pollAgainLeast and pollAgainMost bound the pause after a poll that failed. The pause grows with the length of the
// outage, to pollAgainPart of it: messages that waited so long do not wait much longer afterwards.
const (
	pollAgainLeast = 500 * time.Millisecond
	pollAgainMost  = 10 * time.Second
	pollAgainPart  = 4
)

// pollPause is the pause after a poll that failed, when polls have failed for so long. Its second half is drawn, so that
// consumers that failed together do not come back together.
func pollPause(outage time.Duration) time.Duration {
	d := min(max(outage/pollAgainPart, pollAgainLeast), pollAgainMost)
	return d/2 + rand.N(d/2)
}

// pollers ask the service for messages. There is always one; others join while polls come back full and places are
// free, and leave when one does not. So an idle channel costs one long poll, whatever its concurrency.
type pollers struct {
	s  *session
	wg sync.WaitGroup

	mu      sync.Mutex
	n       int
	failing time.Time // when the first poll failed of those that failed in a row; zero: the last one did not
}

func (s *session) poll() *pollers {
	p := &pollers{s: s, n: 1}
	p.wg.Go(p.first)
	return p
}

// first is the poller that never leaves before the session does.
func (p *pollers) first() {
	var hand pollHand
	defer hand.drop()
	for p.s.polls.Err() == nil {
		p.s.guard(func() {
			for period := p.s.gate.enter(); period != nil; period = p.s.gate.enter() {
				if want := p.s.batch(); p.s.places.take(period, want) == nil {
					p.once(period, want, &hand)
				}
			}
		})
	}
}

// join adds a poller while that is worth it.
func (p *pollers) join(period context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.s.batch()
	if p.n >= max(1, p.s.lim.Polls) || p.s.breaker.probing() || !p.s.places.tryTake(want, false) {
		return
	}
	p.n++
	p.wg.Go(func() {
		defer p.left()
		var hand pollHand
		defer hand.drop()
		p.s.guard(func() {
			for p.once(period, want, &hand) && period.Err() == nil && p.s.places.tryTake(want, false) {
			}
		})
	})
}

func (p *pollers) left() {
	p.mu.Lock()
	p.n--
	p.mu.Unlock()
}

// once makes one poll with the places its caller has taken, and says whether it came back full. period ends with the
// session, or with the next hold.
func (p *pollers) once(period context.Context, want int, hand *pollHand) (full bool) {
	s := p.s
	free, brought := want, int64(-1)
	defer func() {
		s.places.giveBack(free)
		if brought < 0 { // it panicked
			s.places.polled(0)
		}
	}()
	mark, began, unseen := s.sources.mark(), time.Now(), s.count.unseen()
	got, err := p.receive(period, want, hand)
	free = want - len(got)
	full = len(got) >= want
	brought = s.accept(got, hand)
	s.sources.sweep(mark)
	s.places.polled(brought)
	if full {
		p.join(period)
	}
	s.breaker.polled(len(got))
	s.logDiscarded(time.Now())
	clear(got)
	switch {
	case period.Err() != nil:
		return false
	case err != nil:
		p.backOff(period, err)
		return false
	}
	p.recovered()
	if len(got) > 0 {
		return full
	}
	if s.running.Load() == 0 {
		s.c.state.to(Idle)
	}
	if s.count.unseen() == unseen { // else it brought something, if nothing to handle
		_ = backoff.Sleep(period, emptyPollEvery-time.Since(began)) // ends early when the period does
	}
	return full
}

// pollHand is what one poller uses again from poll to poll.
type pollHand struct {
	buf    []driver.Delivery
	made   []*Delivery
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
	s := p.s
	ctx := hand.watched(period, max(s.c.o.WaitTime, 0)+pollGrace)
	s.health.calls.begin(stagePoll, 1)
	got, err := s.recv.Receive(ctx, want, hand.buf[:0])
	hand.dog.Stop()
	hand.buf = got
	s.count.polls.Add(1)
	if errors.Is(context.Cause(ctx), errStalled) && len(got) == 0 {
		err = &driver.Error{Class: driver.Transient, Err: errStalled}
	}
	s.health.calls.end(stagePoll, err)
	return got, err
}

var errStalled = fmt.Errorf("the poll was not answered within its wait and %v", pollGrace)

func (p *pollers) backOff(period context.Context, err error) {
	wait := pollPause(p.failed(time.Now()))
	s := p.s
	err = &Error{Op: "receive", Channel: s.c.name, Err: err}
	s.c.log.Warn("receiving failed, trying again", "error", err, "in", wait)
	observe(s, s.c.o.Hooks.ReceiveFailed, err)
	if s.provisions(err) {
		if err := s.provisionAgain(period); err != nil && period.Err() == nil {
			s.c.log.Warn("making what is missing failed, trying again", "error", err, "in", wait)
		}
	}
	_ = backoff.Sleep(period, wait) // ends early when the period does, and the caller looks at that
}

// failed says for how long polls have failed by now.
func (p *pollers) failed(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() {
		p.failing = now
	}
	return now.Sub(p.failing)
}

func (p *pollers) recovered() {
	p.mu.Lock()
	p.failing = time.Time{}
	p.mu.Unlock()
}

// batch is what one poll asks for.
func (s *session) batch() int {
	if s.breaker.probing() {
		return 1
	}
	n := min(s.lim.Batch, max(s.lim.Window, 1))
	if s.c.o.BatchSize > 0 {
		n = min(n, s.c.o.BatchSize)
	}
	return n
}
