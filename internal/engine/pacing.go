package engine

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/pace"
)

const (
	// paceInterval is how often the size of a pool is checked.
	paceInterval = 5 * time.Second
	// lookEvery is how often the size of the backlog is requested, while items wait and the pool may grow.
	lookEvery = 3 * paceInterval
	// lookFor bounds such a request.
	lookFor = 5 * time.Second
	// lately: the age of items that started longer ago is not used any more.
	lately = time.Minute
)

// Demand is how many workers a channel needs, as far as it is known.
type Demand struct {
	Age     time.Duration // of the items that started within the last minute; 0: none did
	Service time.Duration // duration of recent handlers, for one item; 0: none has ended
	Workers int           // how many are needed
}

// meter counts between two checks of the pool's size. Guarded by the fleet's lock, which is held anyway when a handler
// starts or ends.
type meter struct {
	started, ended int // deliveries
	failed         int // handlers
	oldest         time.Duration
	spent          time.Duration // by the handlers that have ended

	handlers int           // that run
	worked   time.Duration // by all handlers together, up to last
	last     moment
}

// move updates the time worked when the number of handlers changes.
func (m *meter) move(now moment, more int) {
	if m.handlers > 0 {
		m.worked += time.Duration(m.handlers) * now.since(m.last)
	}
	m.last = now
	m.handlers += more
}

// starts counts an item that starts.
func (m *meter) starts(it *Item, c clock, now moment) {
	m.started++
	if it.Attempt == 1 && !it.SentAt.IsZero() { // the delay of a retry is not an age
		m.oldest = max(m.oldest, now.since(c.of(it.SentAt))-it.delay)
	}
}

// pacing adapts the pool of a consumer to the age of its deliveries.
type pacing struct {
	f   *flow
	cfg *Config
	obs Observer

	mu      sync.Mutex
	pacer   *pace.Pacer
	workers int // how many there should be
	floor   int
	ceiling int
	at      time.Time     // time of the last tick
	age     time.Duration // at the last start or wait of an item
	aged    time.Time     // time of age
	service time.Duration // at the last end of a handler
	backlog int64         // as the service has reported it, minus what has started since
	looked  time.Time     // when it was last requested

	looks sync.WaitGroup
}

func newPacing(s *Session, floor int) *pacing {
	p := &pacing{f: s.flow, cfg: &s.cfg, obs: s.obs}
	p.restart(floor)
	return p
}

// restart begins again with another floor, and returns by how much the pool changes.
func (p *pacing) restart(floor int) (more int) {
	ceiling := floor
	if p.cfg.handles() && p.cfg.MaxConcurrency > 0 { // an iterator has one caller
		ceiling = max(floor, p.cfg.MaxConcurrency)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pacer = pace.New(pace.Options{Floor: floor, Ceiling: ceiling, Tolerance: p.cfg.DelayTolerance})
	more = floor - p.workers
	p.workers, p.floor, p.ceiling = floor, floor, ceiling
	return more
}

// handlers is how many handlers of the session may run at the same time.
func (p *pacing) handlers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// grown reports whether the pool is larger than its floor, so that it has to be checked whether it can shrink.
func (p *pacing) grown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers > p.floor
}

// tick evaluates what a meter has counted, and changes the size of the pool. The keeper calls it.
func (p *pacing) tick(now time.Time, m meter) {
	waiting, since := p.oldestWaiting()
	if waiting && !since.IsZero() {
		m.oldest = max(m.oldest, now.Sub(since))
	}
	p.mu.Lock()
	sample := pace.Sample{
		Now: now, Workers: p.workers, Started: m.started, Ended: m.ended, Failed: min(m.failed, m.ended),
		Oldest: m.oldest, Waiting: waiting,
	}
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
	if p.backlog > 0 && now.Sub(p.looked) <= lookEvery {
		sample.Waiting = true // in the service, although none waits here now
	}
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
	if look {
		p.looks.Go(p.look)
	}
	if more != 0 {
		p.resize(n, more)
		p.obs.Resized(before, n)
	}
}

// resize changes the number of workers and places.
func (p *pacing) resize(n, more int) {
	f := p.f
	f.lock()
	f.places.grow(more * max(1, p.cfg.MaxBatch))
	f.queue.limit = n
	f.fleet.wakeAll()
	f.unlock()
	if p.cfg.handles() && f.fleet.alone { // an iterator has one caller
		f.fleet.Resize(n)
	}
}

// look requests the size of the backlog. If the service does not tell it, only the age of deliveries counts.
func (p *pacing) look() {
	inspect := driver.OperationsOf(p.cfg.Backend).Inspect
	if inspect == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.f.polls, lookFor)
	defer cancel()
	depth, err := inspect(ctx, p.cfg.Channel)
	if err != nil {
		p.cfg.Log.Debug("the size of the backlog could not be read", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backlog = depth.Waiting
}

// demand is how many workers the channel needs for a backlog.
func (p *pacing) demand(backlog int64, oldest time.Duration) Demand {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.aged) > lately {
		p.age = 0
	}
	p.pacer.Quiet(now)
	d := Demand{Age: max(p.age, oldest, 0), Service: p.service}
	d.Workers = p.pacer.Wanted(backlog, d.Age)
	return d
}

// oldestWaiting reports whether an item can start, and when the first one was due, unless it is a retry.
func (p *pacing) oldestWaiting() (waiting bool, due time.Time) {
	p.f.fleet.mu.Lock()
	defer p.f.fleet.mu.Unlock()
	if !p.f.queue.runnable() {
		return false, time.Time{}
	}
	if it := p.f.queue.head; it.Attempt == 1 && !it.SentAt.IsZero() {
		due = it.SentAt.Add(it.delay)
	}
	return true, due
}
