package godwit

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// session is one run of one consumer: what it holds, and the way of a delivery through it.
//
//	poller → accept → lane → bus → start → handler → conclude → settler → settled
//
// The session moves deliveries along that line; each noun on it has a file of its own.
type session struct {
	c       *Consumer
	handler Handler // nil: the caller of an iterator settles
	recv    driver.Receiver
	lim     driver.ReceiveLimits
	pool    *pool // nil without workers
	bus     *bus
	queue   queue // guarded by bus.mu
	places  *places
	sources sources
	seed    maphash.Seed
	keeper  *keeper
	settler *settler
	starts  *startLog
	sealed  *choice // what a delivery's choice is once its handler has returned

	base  context.Context // what handlers' contexts derive from: values of Run's context, not its cancellation
	polls context.Context // ends when polling must
	gate  *gate
	halt  context.CancelCauseFunc

	running atomic.Int64  // deliveries with a handler or with an iterator's caller
	quiet   chan struct{} // holds one: running has become 0
	count   counters
	health  healthLog
	failed  func(error) // who wants to see settle errors; nil: only the hook
	ending  struct {
		sync.Mutex
		err error // why the session cannot go on
	}
	faults faultLog
}

// begin opens the receiver and starts everything of a session but its pollers and workers.
func (c *Consumer) begin(ctx context.Context, b *bus, q queue, bytes *budget, p *pool, h Handler) (*session, error) {
	s := &session{c: c, bus: b, queue: q, handler: h, pool: p, seed: maphash.MakeSeed(), quiet: make(chan struct{}, 1),
		sources: sources{by: map[*driver.Source]*source{}}, starts: newStartLog(), sealed: new(choice)}
	recv, err := c.backend.Receiver(ctx, c.channel, driver.ReceiverOptions{
		Filter: c.o.Filter.driver(), Concurrency: c.concurrency(), Wait: max(c.o.WaitTime, 0),
		Bytes: c.o.MaxBytes, Lease: c.o.Lease,
		Events: driver.Events{Revoked: s.revoked, Lost: s.lostSources},
	})
	if err != nil {
		return nil, wrapError("receive", c.name, "", err)
	}
	s.recv, s.lim = recv, recv.Limits()
	s.places = newPlaces(max(s.lim.Window, 1), bytes)
	s.keeper = newKeeper(s, recv, s.lim)
	s.settler = newSettler(s, recv, s.lim.SettleBatch)
	s.base = context.WithoutCancel(ctx)
	s.polls, s.halt = context.WithCancelCause(ctx)
	c.mu.Lock()
	c.session = s
	s.gate = newGate(s.polls, c.paused)
	s.queue.parked = c.paused
	c.mu.Unlock()
	b.join(s)
	go s.keeper.loop()
	c.state.to(Listening)
	return s, nil
}

// accept takes what a poll brought into lanes, and the heads of lanes onto the bus. The places are already taken.
func (s *session) accept(in []driver.Delivery) {
	if len(in) == 0 {
		return
	}
	s.count.received.Add(int64(len(in)))
	if st, _ := s.c.state.now(); st == Idle {
		s.c.state.to(Listening)
	}
	slab := make([]Delivery, len(in)) // one allocation for the batch
	now := time.Now()
	for i := range in {
		d := &slab[i]
		if i > 0 && in[i].Source == in[i-1].Source {
			d.src = slab[i-1].src
		} else {
			d.src = s.sources.of(in[i].Source)
		}
		s.fill(d, &in[i])
		s.places.keep(d.size)
		s.keeper.keep(d, in[i].LeaseEnds, now)
		s.observe(func() {
			if f := s.c.o.Hooks.Received; f != nil {
				f(d)
			}
		})
	}
	for rest := slab; len(rest) > 0; {
		rest = s.enqueue(rest)
	}
}

// enqueue takes the leading run of deliveries of one source into their lanes, and returns the others.
func (s *session) enqueue(ds []Delivery) (rest []Delivery) {
	src := ds[0].src
	var first, last *Delivery
	n, i := 0, 0
	src.mu.Lock()
	for ; i < len(ds) && ds[i].src == src; i++ {
		d := &ds[i]
		if !src.join(d) {
			continue
		}
		if last == nil {
			first = d
		} else {
			last.busNext = d
		}
		last = d
		n++
	}
	src.mu.Unlock()
	if n > 0 && !s.bus.push(s, first, last, n) {
		for d := first; d != nil; {
			next := d.busNext
			d.busNext = nil
			s.giveBackWaiting(d)
			d = next
		}
	}
	return ds[i:]
}

func (s *session) fill(d *Delivery, in *driver.Delivery) {
	d.ID, d.Channel = in.ID, s.c.name
	d.OrderKey, d.Tenant, d.RoutingKey = in.OrderKey, in.Tenant, in.RoutingKey
	d.ContentType, d.Type, d.Version = in.ContentType, in.Type, in.Version
	d.Headers, d.Body, d.SentAt = in.Header, in.Body, in.SentAt
	d.in, d.handle = s, in.Handle
	d.Death, d.err, d.size, d.received = deathOf(in.Origin), in.Err, in.Size, in.Received
	d.Attempt = s.starts.attempt(in)
	if s.c.channel.Ordered || in.OrderKey != "" {
		d.lane = laneOf(s.seed, in.OrderKey)
	}
}

// start moves a runnable delivery to running, and says whether it is there. What cannot run is disposed of.
func (s *session) start(d *Delivery) bool {
	if d.lost.Load() || !d.src.begin() {
		s.drop(d)
		return false
	}
	d.phase.Store(phaseRunning)
	if s.running.Add(1) == 1 {
		s.moveState()
	}
	if d.err != nil && d.claim() {
		s.conclude(d, Verdict{Action: Reject}, d.err)
		return false
	}
	return true
}

// stopped takes back what start counted, once the delivery runs no more.
func (s *session) stopped(d *Delivery) {
	s.bus.vacate(d)
	if s.running.Add(-1) > 0 {
		return
	}
	s.moveState()
	select {
	case s.quiet <- struct{}{}:
	default:
	}
}

// moveState follows the number of running handlers, without flapping between two messages of a stream.
func (s *session) moveState() {
	for {
		n := s.running.Load()
		if n > 0 {
			if st, _ := s.c.state.now(); st == Idle {
				s.c.state.to(Listening)
			}
			s.c.state.to(Processing)
		} else if !s.bus.waiting(s) {
			s.c.state.to(Listening)
		}
		if (s.running.Load() > 0) == (n > 0) {
			return
		}
	}
}

// conclude carries a verdict out. The caller has claimed the delivery.
func (s *session) conclude(d *Delivery, v Verdict, reason error) {
	switch {
	case d.lost.Load():
		s.stopped(d)
		s.disown(d)
	case v.Action == Retry && s.holds(d, v.After):
		s.hold(d, v.After)
	case v.Action == Retry:
		s.starts.note(d, d.Attempt)
		s.settle(d, driver.Settlement{Action: driver.Retry, After: s.keepable(v.After), Attempt: int32(d.Attempt)}, d.lane != 0)
	case v.Action == Reject && s.noDeadLetters():
		s.fail(&Error{Op: "dead-letter", Channel: s.c.name, MessageID: d.ID, Err: errors.Join(ErrNoDeadLetters, reason)})
		s.giveBack(d)
	case v.Action == Reject:
		s.settle(d, driver.Settlement{Action: driver.Reject, Attempt: int32(d.Attempt), Death: s.death(d, reason)}, false)
		s.observe(func() {
			if f := s.c.o.Hooks.Rejected; f != nil {
				f(d, reason)
			}
		})
	case v.Action == Stop:
		s.fail(&Error{Op: "handle", Channel: s.c.name, MessageID: d.ID, Err: reason})
		s.giveBack(d)
	default:
		if v.Action == Drop {
			s.count.dropped.Add(1)
		}
		s.settle(d, driver.Settlement{Action: driver.Done}, false)
	}
}

// settle sends a verdict on its way and makes the next of the lane runnable, or gives the whole lane back behind it.
func (s *session) settle(d *Delivery, st driver.Settlement, lane bool) {
	st.Handle = d.handle
	next := d.src.leave(d)
	s.places.settle()
	if lane {
		s.tell(append([]verdict{{d, st}}, s.unlane(next)...)...)
		next = nil
	} else {
		s.tell(verdict{d, st})
	}
	if next != nil && !s.bus.push(s, next, next, 1) {
		s.giveBackWaiting(next)
	}
	s.stopped(d)
}

// giveBack returns a running delivery untouched, and behind it its lane, in order.
func (s *session) giveBack(d *Delivery) {
	if d.lost.Load() { // it is not ours to give
		s.stopped(d)
		s.disown(d)
		return
	}
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	s.settle(d, driver.Settlement{Action: driver.Release}, true)
}

// giveBackWaiting returns the head of a lane that never started, and behind it its lane, in order.
func (s *session) giveBackWaiting(d *Delivery) { s.tell(s.unlane(d)...) }

// unlane takes a lane apart, from its waiting head on, into verdicts that give it back.
func (s *session) unlane(head *Delivery) []verdict {
	var vs []verdict
	for d := head; d != nil; {
		next := d.src.leave(d)
		if d.lost.Load() || !d.src.begin() {
			s.forget(d)
		} else {
			d.phase.Store(phaseSettled)
			s.starts.note(d, d.Attempt-1)
			s.gaveBack(d)
			s.places.settle()
			vs = append(vs, verdict{d, driver.Settlement{Handle: d.handle, Action: driver.Release}})
		}
		d = next
	}
	return vs
}

func (s *session) gaveBack(d *Delivery) {
	s.observe(func() {
		if f := s.c.o.Hooks.GivenBack; f != nil {
			f(d)
		}
	})
}

// drop disposes of the head of a lane that cannot start: its lease is lost, or its source.
func (s *session) drop(d *Delivery) {
	next := d.src.leave(d)
	s.forget(d)
	s.giveBackWaiting(next)
}

// disown disposes of a delivery that lost its lease while it ran. Its lane goes back: the lost one may be handled
// elsewhere now, and those behind it must not overtake it here.
func (s *session) disown(d *Delivery) {
	d.src.end()
	s.drop(d)
}

// forget frees what a delivery holds that will never be settled.
func (s *session) forget(d *Delivery) {
	d.phase.Store(phaseSettled)
	s.keeper.forget(d)
	s.places.free(1)
	s.places.bytes.release(d.size)
}

// settled takes the service's answer to a verdict in.
func (s *session) settled(v verdict, err error) {
	d := v.d
	s.keeper.forget(d)
	d.src.end()
	s.places.settled(d.size)
	switch {
	case errors.Is(err, driver.ErrLost) || d.lost.Load():
		if !d.lost.Swap(true) {
			s.lostLease(d)
		}
		s.unsettled(v, ErrLeaseLost)
	case err != nil:
		s.unsettled(v, err)
	default:
		s.count.settled(v.s.Action)
	}
}

// unsettled is the end of a verdict that the service has not taken: the message comes again.
func (s *session) unsettled(v verdict, err error) {
	s.count.unsettled.Add(1)
	s.health.settleFailed(err)
	wrapped := wrapError(v.s.Action.String(), s.c.name, v.d.ID, err)
	if s.failed != nil {
		s.failed(wrapped)
	}
	s.observe(func() {
		if f := s.c.o.Hooks.SettleFailed; f != nil {
			f(v.d, wrapped)
		}
	})
}

func (s *session) noDeadLetters() bool { return s.c.o.NoDeadLetters || s.c.channel.DeadLetter }

func (s *session) death(d *Delivery, reason error) *driver.Death {
	if reason == nil {
		reason = errors.New("rejected without a reason")
	}
	now := time.Now()
	death := &driver.Death{
		Error: reason.Error(), Kind: kindOf(reason, d.Attempt, s.c.o.MaxAttempts),
		Consumer: s.c.o.Name, Channel: s.c.name, Attempts: int32(d.Attempt), First: d.first, Last: now,
	}
	if d.err != nil {
		death.Kind, death.Attempts = kindUndecodable, 0
	}
	if death.First.IsZero() {
		death.First = now
	}
	return death
}

// fail ends the session with an error; the first one counts.
func (s *session) fail(err error) {
	s.ending.Lock()
	if s.ending.err == nil && s.polls.Err() == nil {
		s.ending.err = err
	}
	s.ending.Unlock()
	s.halt(err)
}

// fatal is why the session cannot go on; nil: it can, or was told to stop.
func (s *session) fatal() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.ending.err
}
