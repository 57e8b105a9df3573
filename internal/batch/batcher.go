package batch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// Batcher joins entries into batches. It is safe for concurrent use.
type Batcher[T any] struct {
	o      Options[T]
	ctx    context.Context // of every Send; canceled when Close gives up
	giveUp context.CancelFunc
	wake   chan struct{} // has room for one signal
	done   chan struct{}
	wg     sync.WaitGroup  // carriers
	carry  chan *buffer[T] // to an idle carrier
	spare  atomic.Int32    // idle carriers

	mu      sync.Mutex
	backlog backlog[T]
	idle    []*buffer[T] // for reuse
	tempo   *tempo       // nil unless Options.Adapt is set
	away    int          // batches in flight
	waiting int          // entries between two tries
	expect  int          // entries likely to be queued soon: those queued when a batch was answered, and those answered
	landed  time.Time    // when the last batch was answered
	closing bool
}

// New starts a Batcher; Close ends it.
func New[T any](o Options[T]) *Batcher[T] {
	o.AtOnce = max(o.AtOnce, 1)
	b := &Batcher[T]{o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	b.backlog = backlog[T]{o: &b.o, lines: map[string]line[T]{}}
	b.carry = make(chan *buffer[T])
	if o.Adapt {
		b.tempo = newTempo(o.Linger, o.Longest)
	}
	b.ctx, b.giveUp = context.WithCancel(context.Background())
	go b.loop()
	return b
}

// Add queues entries, which are sent in this order. It returns false after Close. It neither blocks nor calls
// Take, Send, Again, Done, Landed or Patience, so that its caller may hold a lock that these functions take.
func (b *Batcher[T]) Add(vs ...T) bool {
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return false
	}
	before, hurried, awaited := b.backlog.ready(), b.backlog.hurried(), false
	if b.tempo != nil {
		now := time.Now()
		awaited = b.tempo.awaited(now)
		b.tempo.came(len(vs), now)
		awaited = awaited && !b.tempo.awaited(now)
	}
	for _, v := range vs {
		b.backlog.enqueue(entry[T]{v: v})
	}
	wake := b.nudgeAfter(before) || awaited || !hurried && b.backlog.hurried()
	b.mu.Unlock()
	if wake {
		b.nudge()
	}
	return true
}

// Close sends what is queued and waits for the answers until ctx ends; then it gives up what is left.
func (b *Batcher[T]) Close(ctx context.Context) {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.nudge()
	stop := context.AfterFunc(ctx, b.giveUp)
	defer stop()
	<-b.done
	b.wg.Wait()
	b.giveUp()
}

// nudgeAfter reports whether the loop has to be woken now that the queue has grown. The caller holds b.mu.
func (b *Batcher[T]) nudgeAfter(before int) bool {
	n := b.backlog.ready()
	return n > before && (before == 0 || b.backlog.full(n) || b.away == 0 && before < b.expect && n >= b.expect)
}

func (b *Batcher[T]) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *Batcher[T]) loop() {
	defer close(b.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, wait, over := b.next(time.Now(), b.patience())
		switch {
		case over:
			return
		case batch != nil:
			b.dispatch(batch)
			continue
		case wait > 0:
			timer.Reset(wait)
		default:
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-b.wake:
		}
	}
}

// maxSpare is how many carriers stay without a batch.
const maxSpare = 16

// dispatch gives a batch to a carrier.
func (b *Batcher[T]) dispatch(batch *buffer[T]) {
	select {
	case b.carry <- batch:
	default:
		b.wg.Go(func() { b.carrier(batch) })
	}
}

// carrier sends one batch after another. Reusing the goroutine keeps its stack, which has grown with the first call. A
// new goroutine for each batch would grow its stack every time, because a client of a service can be a hundred calls
// deep.
func (b *Batcher[T]) carrier(batch *buffer[T]) {
	for {
		for batch != nil {
			batch = b.send(batch)
		}
		if b.spare.Add(1) > maxSpare {
			b.spare.Add(-1)
			return
		}
		select {
		case batch = <-b.carry:
			b.spare.Add(-1)
		case <-b.done:
			return
		}
	}
}

// patience is called before the batcher's lock is taken, because Options.Patience may need a lock that a caller of Add
// holds.
func (b *Batcher[T]) patience() time.Duration {
	if b.o.Patience == nil {
		return 0
	}
	return b.o.Patience()
}

// next takes the next batch. If there is none yet, it returns how long to wait for one (0: until woken), or that the
// batcher is closed and everything has ended.
func (b *Batcher[T]) next(now time.Time, patience time.Duration) (batch *buffer[T], wait time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.backlog.ready()
	switch {
	case n == 0:
		return nil, 0, b.closing && b.away == 0 && b.waiting == 0
	case b.away >= b.o.AtOnce:
		return nil, 0, false
	}
	if !b.backlog.full(n) && !b.closing {
		if b.backlog.hurried() {
			patience = 0
		}
		if wait = max(b.hold(n, now), b.backlog.since.Add(patience).Sub(now)); wait > 0 {
			return nil, wait, false
		}
	}
	b.away++
	b.backlog.since = now
	batch = b.buffer()
	b.backlog.take(batch)
	return batch, 0, false
}

// buffer returns a buffer for a batch. The caller holds b.mu.
func (b *Batcher[T]) buffer() *buffer[T] {
	last := len(b.idle) - 1
	if last < 0 {
		return &buffer[T]{}
	}
	p := b.idle[last]
	b.idle = b.idle[:last]
	return p
}

// hold is how long n entries, which do not fill a batch, wait for more. The caller holds b.mu.
func (b *Batcher[T]) hold(n int, now time.Time) (wait time.Duration) {
	if b.tempo != nil {
		return b.tempo.until(b.backlog.since, now, b.away).Sub(now)
	}
	if b.away > 0 || n < b.expect {
		wait = b.backlog.since.Add(b.o.Longest).Sub(now)
		if b.away == 0 {
			wait = min(wait, b.landed.Add(b.o.Linger).Sub(now))
		}
	}
	return wait
}

// send makes one call with a batch and handles each entry's answer. If entries have to be repeated as a batch of their
// own, send returns that batch after their wait.
func (b *Batcher[T]) send(p *buffer[T]) (next *buffer[T]) {
	batch := b.present(p.entries)
	for i := range batch {
		p.vs = append(p.vs, batch[i].v)
	}
	vs := p.vs
	var err error
	if len(vs) > 0 {
		err = b.timed(vs)
	}
	// Counted before any caller is answered, because a caller may add its next entry before land is called.
	expect := b.queued() + len(batch)
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	var again []entry[T]
	var wait time.Duration
	ended, refused := batch[:0], 0
	for i := range batch {
		e, failed := batch[i], err
		if partial {
			failed = entries.Errs[i]
		}
		if w := b.again(&e, failed); w >= 0 {
			again, wait = append(again, e), max(wait, w)
			continue
		}
		if failed == nil && b.o.Landed != nil {
			vs[len(ended)-refused] = e.v // the entry that was there is still in batch
		} else {
			b.o.Done(e.v, failed)
			refused++
		}
		ended = append(ended, e)
	}
	if landed := vs[:len(ended)-refused]; len(landed) > 0 && b.o.Landed != nil {
		b.o.Landed(landed)
	}
	b.land(expect, ended, len(again), p)
	if len(again) == 0 {
		return nil
	}
	return b.repeat(again, wait)
}

// timed makes one call, and notes its duration in the tempo.
func (b *Batcher[T]) timed(vs []T) error {
	if b.tempo == nil {
		return b.o.Send(b.ctx, vs)
	}
	begun := time.Now()
	err := b.o.Send(b.ctx, vs)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if err == nil {
		b.tempo.took(now.Sub(begun))
	}
	// Before any caller is answered, because callers may add again at once.
	b.tempo.land(len(vs), now)
	return err
}

func (b *Batcher[T]) queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.backlog.queue.len()
}

// present removes the entries that were withdrawn before they were sent.
func (b *Batcher[T]) present(batch []entry[T]) []entry[T] {
	if b.o.Take == nil {
		return batch
	}
	here, gone := batch[:0], []entry[T](nil)
	for _, e := range batch {
		if b.o.Take(e.v) {
			here = append(here, e)
		} else {
			gone = append(gone, e)
		}
	}
	if len(gone) > 0 {
		b.mu.Lock()
		for i := range gone {
			b.backlog.ended(gone[i].v)
		}
		b.mu.Unlock()
	}
	return here
}

// again returns how long an entry waits before it is repeated; a negative result means that it is not repeated.
func (b *Batcher[T]) again(e *entry[T], failed error) time.Duration {
	if failed == nil || b.o.Again == nil || b.ctx.Err() != nil {
		return -1
	}
	e.tries++
	return b.o.Again(e.v, failed, e.tries)
}

// land is called when a batch has been answered. It queues the entries that waited for the answered ones, and lets the
// next batch be sent.
func (b *Batcher[T]) land(expect int, ended []entry[T], again int, p *buffer[T]) {
	b.mu.Lock()
	b.away--
	b.expect, b.landed = expect, time.Now()
	b.waiting += again
	for i := range ended {
		b.backlog.ended(ended[i].v)
	}
	if p.reset(); len(b.idle) < b.o.AtOnce {
		b.idle = append(b.idle, p)
	}
	b.mu.Unlock()
	b.nudge()
}

// repeat puts entries back at the front of the queue after their wait. Their keys stay busy meanwhile, so that no later
// entry overtakes them. With Options.Together the entries are sent as one batch, because the queue could split the
// entries of one key into two batches.
func (b *Batcher[T]) repeat(again []entry[T], wait time.Duration) (next *buffer[T]) {
	if err := backoff.Sleep(b.ctx, wait); err != nil {
		b.giveUpOn(again, err)
		return nil
	}
	b.mu.Lock()
	b.waiting -= len(again)
	if b.o.Together {
		b.away++
		b.mu.Unlock()
		return &buffer[T]{entries: again}
	}
	b.backlog.putBack(again)
	b.mu.Unlock()
	b.nudge()
	return nil
}

// giveUpOn ends entries whose wait was interrupted by Close.
func (b *Batcher[T]) giveUpOn(again []entry[T], err error) {
	for _, e := range again {
		b.o.Done(e.v, err)
	}
	b.mu.Lock()
	b.waiting -= len(again)
	for i := range again {
		b.backlog.ended(again[i].v)
	}
	b.mu.Unlock()
	b.nudge()
}
