package godwit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/pace"
)

const (
	// paceInterval is how often the size of a pool is thought over.
	paceInterval = 5 * time.Second
	// lookEvery is how often the service is asked for the backlog meanwhile, while work waits and the pool may grow.
	lookEvery = 3 * paceInterval
	// lookFor bounds one such request.
	lookFor = 5 * time.Second
	// lately: an age at which something started longer ago says nothing about what waits now.
	lately = time.Minute
)

// Demand is how much there is to do for the consumers of a channel, for autoscalers.
type Demand struct {
	Backlog int64         // messages that could be received now
	Age     time.Duration // at which deliveries started within the last minute; 0: none did
	Service time.Duration // what a handler takes of late, for one delivery; 0: none has ended
	// Workers is how many handlers at once would work the backlog off in what is left of the delay tolerance
	// (backlog × service ÷ (tolerance − age)), and keep up with what comes; at least one while messages are in flight.
	Workers int
	// Consumers is how many processes like this one that takes, at their MaxConcurrency. 0: nothing is there to do, and
	// for some minutes nothing came.
	Consumers int
}

// Demand asks the service for the backlog and says how many consumers it wants. It tells most while the consumer runs,
// since then it knows how long handlers take.
func (c *Consumer) Demand(ctx context.Context) (Demand, error) {
	inspector, ok := c.backend.(driver.Inspector)
	if !ok {
		return Demand{}, &Error{Op: "inspect", Channel: c.name, Err: fmt.Errorf("%w: this backend cannot look into channels", errors.ErrUnsupported)}
	}
	depth, err := inspector.Inspect(ctx, c.channel)
	if err != nil {
		return Demand{}, wrapError("inspect", c.name, "", err)
	}
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	d := Demand{Backlog: depth.Waiting}
	if s == nil {
		d.Workers = pace.New(pace.Options{Floor: c.concurrency(), Tolerance: c.o.DelayTolerance}).Wanted(d.Backlog, depth.Oldest)
	} else {
		s.pace.demand(&d, depth.Oldest)
	}
	if depth.InFlight > 0 { // what is handled, or waits for a retry, needs whoever holds it
		d.Workers = max(d.Workers, 1)
	}
	most := c.ceiling(c.concurrency())
	d.Consumers = (d.Workers + most - 1) / most
	return d, nil
}

// ceiling is how far the pool may grow from its floor: not at all where no MaxConcurrency above Concurrency was asked for,
// also when the floor is lower by now.
func (c *Consumer) ceiling(floor int) int {
	if !c.adapts {
		return floor
	}
	return max(floor, c.o.MaxConcurrency)
}

// meter counts what happens between two looks at the pool's size. Guarded by keeper.mu, which is held anyway when a
// handler starts or ends.
type meter struct {
	started, ended int // deliveries
	oldest         time.Duration
	spent          time.Duration // by the handlers that ended

	handlers int           // that run
	worked   time.Duration // by all handlers together, up to last
	last     moment
}

// move brings the time worked up to now, when the number of handlers changes.
func (m *meter) move(now moment, more int) {
	if m.handlers > 0 {
		m.worked += time.Duration(m.handlers) * now.since(m.last)
	}
	m.last = now
	m.handlers += more
}

// began takes in the start of a handler.
func (m *meter) began(now moment, c clock, ds []*Delivery) {
	m.move(now, 1)
	m.started += len(ds)
	for _, d := range ds {
		if d.Attempt == 1 && !d.SentAt.IsZero() { // a retry was told to wait
			m.oldest = max(m.oldest, now.since(c.of(d.SentAt))-d.delay)
		}
	}
}

// over takes in the end of a handler of n deliveries.
func (m *meter) over(n int, begun, now moment) {
	m.move(now, -1)
	m.ended += n
	m.spent += now.since(begun)
}

// pacing keeps a consumer's pool as large as the age of its deliveries wants it.
type pacing struct {
	s      *session
	failed atomic.Int64 // handlers, since the last tick

	mu      sync.Mutex
	pacer   *pace.Pacer
	workers int // as many as there should be
	floor   int
	ceiling int
	at      time.Time     // of the last tick
	age     time.Duration // when something last started or waited
	aged    time.Time     // when that was
	service time.Duration // when something last ended
	backlog int64         // that the service told, less what started since
	looked  time.Time     // when it was last asked

	looks sync.WaitGroup
}

func newPacing(s *session, floor int) *pacing {
	p := &pacing{s: s}
	p.restart(floor)
	return p
}

// restart begins anew with another floor, and says by how much that changes the pool.
func (p *pacing) restart(floor int) (more int) {
	ceiling := floor
	if p.s.pool != nil { // an iterator's caller is one
		ceiling = p.s.c.ceiling(floor)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pacer = pace.New(pace.Options{Floor: floor, Ceiling: ceiling, Tolerance: p.s.c.o.DelayTolerance})
	more = floor - p.workers
	p.workers, p.floor, p.ceiling = floor, floor, ceiling
	return more
}

// grown says whether the pool is larger than it must be, so that somebody has to look whether it still should.
func (p *pacing) grown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers > p.floor
}

// tick looks at what a meter has counted, and makes the pool larger or smaller. The keeper calls it.
func (p *pacing) tick(now time.Time, m meter) {
	waiting, since := p.s.bus.oldest(p.s)
	if waiting && !since.IsZero() {
		m.oldest = max(m.oldest, now.Sub(since))
	}
	failed := p.failed.Swap(0)
	p.mu.Lock()
	sample := pace.Sample{Now: now, Workers: p.workers, Started: m.started, Ended: m.ended, Failed: min(int(failed), m.ended),
		Oldest: m.oldest, Waiting: waiting}
	if m.ended > 0 {
		sample.Service = m.spent / time.Duration(m.ended)
	}
	if span := now.Sub(p.at); !p.at.IsZero() && span > 0 {
		sample.Busy = min(1, m.worked.Seconds()/(span.Seconds()*float64(p.workers)))
	}
	p.at = now
	if m.started > 0 || waiting {
		p.age, p.aged = m.oldest, now
	}
	p.backlog = max(0, p.backlog-int64(m.started))
	sample.Backlog = p.backlog
	if m.ended > 0 {
		p.service = sample.Service
	}
	before := p.workers
	p.workers = p.pacer.Tick(sample)
	more, n := p.workers-before, p.workers
	look := waiting && n < p.ceiling && now.Sub(p.looked) >= lookEvery
	if look {
		p.looked = now
	}
	p.mu.Unlock()
	if inspector, ok := p.s.c.backend.(driver.Inspector); ok && look {
		p.looks.Go(func() { p.look(inspector) })
	}
	if more != 0 {
		p.s.setConcurrency(n, more)
		if f := p.s.c.o.Hooks.Resized; f != nil {
			p.s.guard(func() { f(before, n) })
		}
	}
}

// look asks the service for the backlog. What it does not tell leaves the age of deliveries to go by.
func (p *pacing) look(inspector driver.Inspector) {
	ctx, cancel := context.WithTimeout(p.s.polls, lookFor)
	defer cancel()
	depth, err := inspector.Inspect(ctx, p.s.c.channel)
	if err != nil {
		p.s.c.log.Debug("asking for the backlog failed", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backlog = depth.Waiting
}

// demand fills in what is known of the channel's work.
func (p *pacing) demand(d *Demand, oldest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.aged) > lately {
		p.age = 0
	}
	p.pacer.Quiet(now)
	d.Age, d.Service = max(p.age, oldest, 0), p.service
	d.Workers = p.pacer.Wanted(d.Backlog, d.Age)
}
