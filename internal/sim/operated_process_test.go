package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// worker is one process of an operated world.
type worker struct {
	o    *operated
	name string

	mu       sync.Mutex
	crashed  time.Time // zero: it has not
	stopping time.Time // zero: it is not stopped
	darkness span      // without connections, with the time that it then needs to go on
	received map[string]map[string]bool
}

// slot runs one process after another.
func (o *operated) slot(n int) {
	for i := 0; ; i++ {
		r := o.about("worker", n, i)
		o.worker(fmt.Sprintf("w%d.%d", n, i), r)
		select {
		case <-o.drained:
			return
		case <-time.After(pick(r, 0, r.between(0, 20*time.Second))):
		}
	}
}

// worker runs one process from its start to its end.
func (o *operated) worker(name string, r *stream) {
	p := &worker{o: o, name: name, received: map[string]map[string]bool{}}
	b, net, err := o.carrier.join(name)
	if err != nil {
		o.ledger.violated(nil, "%s: open: %v", name, err)
		return
	}
	c, err := godwit.NewConsumer(context.Background(), b, "orders", p.options(r))
	if err != nil {
		o.ledger.violated(nil, "%s: %v", name, err)
		return
	}
	o.ledger.joins(p)
	o.trace.note("%s starts", name)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	o.processes.Go(func() {
		defer close(done)
		report, err := p.run(ctx, b, c)
		if p.alive() {
			p.ended(report, err)
		}
		_ = b.Close(context.Background())
	})
	life := min(r.between(30*time.Second, 4*time.Minute), o.nextDeploy()-o.now())
	// The readers of a share group's tiers are a classic group, which the broker in memory may never complete again
	// when a member crashes in a rebalance. All other channels of Kafka have groups of the newer protocol here.
	crash := r.chance(0.25) && !o.share
	if o.kafka && !o.share && r.chance(0.2) {
		planned := life
		o.processes.Go(func() { o.blackout(p, planned, net) })
	}
	if o.now()+life > o.lasts {
		life, crash = 1<<60, false
	}
	select {
	case <-done:
		return
	case <-o.drained:
	case <-time.After(life):
	}
	if crash {
		o.tally.add(seenCrash, 1)
		o.trace.note("%s crashes", name)
		p.mark(&p.crashed)
		net.cut()
		cancel()
		return
	}
	o.tally.add(seenStop, 1)
	o.trace.note("%s is told to stop", name)
	p.mark(&p.stopping)
	cancel()
	<-done
}

// blackout takes the connections of a process away until the group has given its partitions to others.
func (o *operated) blackout(p *worker, life time.Duration, net connections) {
	r := o.about("blackout", p.name)
	time.Sleep(r.between(0, min(life, 2*time.Minute)))
	if !p.alive() || o.now() > o.lasts {
		return
	}
	o.tally.add(seenBlackout, 1)
	o.trace.note("%s has no connections", p.name)
	lasts := r.between(50*time.Second, 90*time.Second)
	p.mu.Lock()
	p.darkness = span{o.now() - settles, o.now() + lasts + time.Minute}
	p.mu.Unlock()
	net.cut()
	time.Sleep(lasts)
	if p.alive() {
		o.trace.note("%s has connections again", p.name)
		net.mend()
	}
}

func (p *worker) mark(at *time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*at = time.Now()
}

func (p *worker) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed.IsZero()
}

// settlesAt reports whether the process could reach the service for some time after a moment.
func (p *worker) settlesAt(at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (p.crashed.IsZero() || p.crashed.After(at.Add(settles))) && !p.darkness.holds(at.Sub(p.o.trace.begun))
}

// isDark reports whether the process has no connections, or has them only for a short time.
func (p *worker) isDark() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.darkness.holds(p.o.now())
}

// receives records a receive of a message by a process. Each message is received once at most after the beginning of
// its stop: what a stopping process receives, it holds until its last poll has ended.
func (p *worker) receives(label, handle string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping.IsZero() {
		return
	}
	handles := p.received[label]
	if handles == nil {
		handles = map[string]bool{}
		p.received[label] = handles
	}
	p.o.tally.add(countReceivedStopping, 1)
	if handles[handle] = true; len(handles) == 2 {
		p.o.ledger.violated([]string{label, p.name}, "%s receives %s twice after it was told to stop", p.name, label)
	}
}

// ended checks a process that has stopped.
func (p *worker) ended(r godwit.Report, err error) {
	o := p.o
	o.trace.note("%s has stopped", p.name)
	// A share session of the broker in memory ends when no request comes for a while, as during an outage.
	untold, _ := errors.AsType[*driver.UnsettledError](err)
	if err != nil && (untold == nil || !o.share) && !p.isDark() {
		o.ledger.violated([]string{p.name}, "%s stopped with the error %v", p.name, err)
	}
	if r.Leaked != 0 {
		o.ledger.violated([]string{p.name}, "%s reports leaked deliveries", p.name)
	}
	time.Sleep(time.Second)
	for _, wrong := range o.carrier.left(p) {
		o.ledger.violated([]string{p.name}, "%s has stopped: %s", p.name, wrong)
	}
}

// operatedTimeout is the processing timeout of an operated world.
const operatedTimeout = 5 * time.Second

func (p *worker) options(r *stream) *godwit.ConsumerOptions {
	o := p.o
	c := &godwit.ConsumerOptions{
		Name: p.name, Ordered: o.ordered, Concurrency: pick(r, 1, 4, 16, 64), Lease: time.Minute,
		ProcessingTimeout: operatedTimeout, MaxAttempts: o.attempts, Backoff: godwit.Constant(2 * time.Second),
		MaxAbandoned: 100, ShutdownTimeout: pick(r, 0, 8*time.Second), Stream: o.stream, Hooks: o.ledger.hooks(p),
		Logger: slog.New(slog.DiscardHandler),
	}
	if o.down.to > 0 {
		c.BreakAfter = 3
	}
	if o.kafka {
		c.Lease = 0
	}
	if o.idempotent {
		c.Middleware = []godwit.Middleware{
			func(next godwit.Handler) godwit.Handler { // is told what Idempotent has finished
				return func(ctx context.Context, d *godwit.Delivery) error {
					err := next(ctx, d)
					o.ledger.finishes(p, d, err)
					return err
				}
			},
			godwit.Idempotent(&processStore{o.finished, p}, nil, 2*time.Minute),
		}
	}
	return c
}

// run handles messages until ctx ends.
func (p *worker) run(ctx context.Context, b godwit.Backend, c *godwit.Consumer) (r godwit.Report, err error) {
	if !p.o.transform {
		return c.Run(ctx, p.handle)
	}
	to, err := godwit.NewProducer(context.Background(), b, "results", &godwit.ProducerOptions{Ordered: p.o.ordered})
	if err != nil {
		return r, err
	}
	r, err = godwit.Transform(ctx, c, to, func(ctx context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
		if err := p.handle(ctx, d); err != nil {
			return nil, err
		}
		label := d.Headers.Value("label")
		return []godwit.Message{{
			Body: []byte(label), OrderKey: d.OrderKey, Headers: godwit.Headers{{Name: "label", Value: label}},
		}}, nil
	})
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if failed := to.Close(closing); p.alive() {
		err = errors.Join(err, failed)
	}
	return r, err
}

// processStore is the store of finished keys as one process sees it: it cannot be reached after a crash.
type processStore struct {
	godwit.IdempotencyStore
	p *worker
}

func (s *processStore) Begin(ctx context.Context, key, owner string, atMost time.Duration) (godwit.Claim, error) {
	if !s.p.alive() {
		var none godwit.Claim
		return none, errCut
	}
	return s.IdempotencyStore.Begin(ctx, key, owner, atMost)
}

func (s *processStore) Finish(ctx context.Context, key string) error {
	if !s.p.alive() {
		return errCut
	}
	return s.IdempotencyStore.Finish(ctx, key)
}

func (s *processStore) Abandon(ctx context.Context, key, owner string) error {
	if !s.p.alive() {
		return errCut
	}
	return s.IdempotencyStore.Abandon(ctx, key, owner)
}

// handle treats a message as the seed decides.
func (p *worker) handle(ctx context.Context, d *godwit.Delivery) error {
	o := p.o
	label := d.Headers.Value("label")
	if err := readsAs(ctx, d, label); err != nil {
		if p.alive() && ctx.Err() == nil {
			o.ledger.violated([]string{label}, "the body of %s: %v", label, err)
		}
		return err
	}
	nth, ok := o.ledger.begin(p, d, label)
	if !ok {
		return errCut
	}
	r := o.about("operated deed", label, nth)
	if !work(ctx, &behavior{time: r.between(0, 500*time.Millisecond), stream: r}, &consumer{}) {
		return errInterrupted
	}
	if o.down.holds(o.now()) {
		return errDown
	}
	if nth > 6 || !r.chance(o.misbehaving) {
		if o.methods {
			return errors.Join(o.ledger.done(d, label), o.after)
		}
		o.ledger.succeeds(p, label)
		return nil
	}
	return p.misbehave(d, label, r)
}

// readsAs checks that a body, or what the store has as the body, is the one that was sent.
func readsAs(ctx context.Context, d *godwit.Delivery, label string) error {
	body := d.Body
	if body == nil {
		from, err := d.Open(ctx)
		if err != nil {
			return err
		}
		body, err = io.ReadAll(from)
		if err := errors.Join(err, from.Close()); err != nil {
			return err
		}
	}
	if labelOf(string(body)) != label {
		return fmt.Errorf("it is the body of %q", labelOf(string(body)))
	}
	return nil
}

// misbehave fails, or settles the delivery by one of its methods.
func (p *worker) misbehave(d *godwit.Delivery, label string, r *stream) error {
	what := pick(r, operatedFails, operatedFails, operatedRejects, operatedRejects, operatedPanics, operatedRetries,
		operatedIgnores, operatedRejectsIt, operatedReleasesIt, operatedRetriesIt, operatedHangs)
	if p.o.transform && what >= operatedIgnores {
		what = operatedFails
	}
	p.o.tally.add(what.String(), 1)
	p.o.trace.note("%s %s : %s", p.name, label, what)
	switch what {
	case operatedFails:
		return errBusiness
	case operatedRejects:
		return godwit.Permanent(errBusiness)
	case operatedPanics:
		panic(errBusiness)
	case operatedRetries:
		return godwit.RetryAfter(r.between(0, 5*time.Second), errBusiness)
	case operatedIgnores:
		time.Sleep(operatedTimeout + r.between(time.Second, time.Minute))
		return errInterrupted
	case operatedRejectsIt:
		_ = d.Reject(errBusiness)
		p.hangs(d, label, r)
	case operatedReleasesIt:
		_ = d.Release()
		p.hangs(d, label, r)
	case operatedRetriesIt:
		_ = d.Retry(r.between(0, 5*time.Second))
		p.hangs(d, label, r)
	case operatedHangs:
		err := p.o.ledger.done(d, label)
		time.Sleep(operatedTimeout + r.between(time.Second, 20*time.Second))
		p.o.trace.note("%s returns at last from %s", p.name, label)
		return err
	}
	return nil
}

// hangs returns at once, or long after the timeout, when the next handler of the message may be running or have ended.
func (p *worker) hangs(d *godwit.Delivery, label string, r *stream) {
	if !r.chance(0.5) {
		return
	}
	time.Sleep(operatedTimeout + r.between(time.Second, 20*time.Second))
	if d.Done() == nil && p.alive() {
		p.o.ledger.violated([]string{label}, "%s settles %s twice", p.name, label)
	}
}

// operatedDeed is what a handler of an operated world does instead of only succeeding.
type operatedDeed int

const (
	operatedFails operatedDeed = iota
	operatedRejects
	operatedPanics
	operatedRetries
	operatedIgnores   // the end of its context
	operatedRejectsIt // by a method, as those below
	operatedReleasesIt
	operatedRetriesIt
	operatedHangs // after Done
)

func (d operatedDeed) String() string {
	return "operated: the handler " + [...]string{
		"fails", "rejects", "panics", "asks for a retry", "ignores its context", "calls Reject", "calls Release",
		"calls Retry", "hangs after Done",
	}[d]
}
