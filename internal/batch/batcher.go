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

// Options configure a Batcher. Send and Done are required.
//
// Add calls Size, Key and Urgent while it holds the batcher's lock, so they must do nothing but look at their argument.
// All other functions are called from goroutines of the batcher, without a lock. They may take a lock that a caller of
// Add holds, and they may call Add.
type Options[T any] struct {
	Limit int              // entries in a batch; 0: no limit
	Bytes int              // sum of Size in a batch; 0: no limit
	Size  func(v T) int    // required with Bytes
	Key   func(v T) string // entries with the same key are sent one after another; nil: in any order
	// Together allows several entries of one key in one batch, in the order in which they were added, but never in two
	// batches at the same time. An entry that is repeated is then sent after the entries of its batch that succeeded.
	Together bool

	AtOnce  int           // calls of Send at the same time; 0: one
	Linger  time.Duration // how long to wait, after an answer, until the callers that were answered add again
	Longest time.Duration // how long an entry waits for others at most
	// Adapt makes Linger and Longest upper bounds. An entry then waits only if others are likely to follow within half
	// of the wait. It waits for half the duration of a call, or for a sixteenth of it if the callers add again as soon
	// as they are answered. An entry that comes alone is never delayed, whatever is in flight.
	Adapt bool
	// Patience returns how long a batch that is not full waits, whatever is in flight. It is for entries that come
	// slowly and are not urgent. 0, or a nil function: no longer than the options above say. An entry does not wait
	// for Patience if another one of its key waits for it to end.
	Patience func() time.Duration
	// Urgent reports whether an entry must not wait for Patience. Entries that are queued with it do not wait, either.
	// nil: no entry is urgent.
	Urgent func(v T) bool

	// Take is called just before an entry is sent. If it returns false, the entry is withdrawn, and Done is not called
	// for it. nil: all entries are sent.
	Take func(v T) bool
	// Send sends a batch and does not keep the slice. It returns a *driver.BatchError to name the entries that failed.
	Send func(ctx context.Context, batch []T) error
	// Again returns how long an entry that has failed try times waits before it is repeated. If the result is negative,
	// the entry is not repeated, and Done gets the error. nil: nothing is repeated.
	Again func(v T, err error, try int) time.Duration
	// Done is called once for each entry, with its result.
	Done func(v T, err error)
	// Landed, if it is set, is called instead of Done for the entries that succeeded, once for each call of Send. It
	// does not keep the slice.
	Landed func(vs []T)
}

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
	queue   queue[entry[T]]
	idle    []*buffer[T] // for reuse
	tempo   *tempo       // nil unless Options.Adapt is set
	since   time.Time    // when the queue's first entry came, or when the batch before it left
	urgent  int          // urgent entries of the queue
	blocked int          // entries that wait for the end of a queued one of their key
	behind  int          // entries that may be sent together with a queued one of their key
	bytes   int          // of the queue and of the entries in behind
	// lines is by key; a key is listed while one of its entries is queued, in flight, or between two tries
	lines   map[string]line[T]
	away    int       // batches in flight
	waiting int       // entries between two tries
	expect  int       // entries likely to be queued soon: those queued when a batch was answered, and those answered
	landed  time.Time // when the last batch was answered
	closing bool
}

type entry[T any] struct {
	v     T
	tries int
}

// line is what is known of the entries of one key.
type line[T any] struct {
	waiting []entry[T] // behind one that is queued or away
	bytes   int        // of waiting
	out     int        // entries in a batch in flight, or between two tries; 0: the first of the line is queued
}

// New starts a Batcher; Close ends it.
func New[T any](o Options[T]) *Batcher[T] {
	o.AtOnce = max(o.AtOnce, 1)
	b := &Batcher[T]{o: o, wake: make(chan struct{}, 1), done: make(chan struct{}), lines: map[string]line[T]{}}
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
	before, hurried, awaited := b.ready(), b.hurried(), false
	if b.tempo != nil {
		now := time.Now()
		awaited = b.tempo.awaited(now)
		b.tempo.came(len(vs), now)
		awaited = awaited && !b.tempo.awaited(now)
	}
	for _, v := range vs {
		b.enqueue(entry[T]{v: v})
	}
	wake := b.nudgeAfter(before) || awaited || !hurried && b.hurried()
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
	n := b.ready()
	return n > before && (before == 0 || b.full(n) || b.away == 0 && before < b.expect && n >= b.expect)
}

// ready is the number of entries that the next batch could take. The caller holds b.mu.
func (b *Batcher[T]) ready() int { return b.queue.len() + b.behind }

// hurried reports whether the queue must not wait for Patience. The caller holds b.mu.
func (b *Batcher[T]) hurried() bool { return b.urgent > 0 || b.blocked > 0 }

// enqueue puts an entry onto the queue, or behind another of its key. The caller holds b.mu.
func (b *Batcher[T]) enqueue(e entry[T]) {
	if b.o.Key == nil {
		b.push(e)
		return
	}
	key := b.o.Key(e.v)
	l, busy := b.lines[key]
	if !busy {
		b.lines[key] = line[T]{}
		b.push(e)
		return
	}
	size := b.size(e.v)
	l.waiting, l.bytes = append(l.waiting, e), l.bytes+size
	if l.out == 0 {
		b.follow(1, size)
	}
	b.lines[key] = l
}

func (b *Batcher[T]) push(e entry[T]) {
	if b.queue.len() == 0 { // the clock is read once a batch, not once an entry
		b.since = time.Now()
	}
	b.queue.push(e)
	if b.isUrgent(e.v) {
		b.urgent++
	}
	b.bytes += b.size(e.v)
}

// follow records that n more entries wait behind a queued one of their key. The caller holds b.mu.
func (b *Batcher[T]) follow(n, bytes int) {
	if b.o.Together {
		b.behind, b.bytes = b.behind+n, b.bytes+bytes
	} else {
		b.blocked += n
	}
}

func (b *Batcher[T]) isUrgent(v T) bool { return b.o.Urgent != nil && b.o.Urgent(v) }

// size is 0 if Options.Size is not set.
func (b *Batcher[T]) size(v T) int {
	if b.o.Size == nil {
		return 0
	}
	return b.o.Size(v)
}

// ended is called when an entry has ended. When no other entry of its key is in flight, the next one of the key is
// queued. The caller holds b.mu.
func (b *Batcher[T]) ended(v T) {
	if b.o.Key == nil {
		return
	}
	key := b.o.Key(v)
	l := b.lines[key]
	if l.out--; l.out > 0 {
		b.lines[key] = l
		return
	}
	if len(l.waiting) == 0 {
		delete(b.lines, key)
		return
	}
	first := l.waiting[0]
	l.waiting, l.bytes = l.waiting[1:], l.bytes-b.size(first.v)
	b.lines[key] = l
	b.push(first)
	b.follow(len(l.waiting), l.bytes)
}

func (b *Batcher[T]) full(n int) bool {
	return b.o.Limit > 0 && n >= b.o.Limit || b.o.Bytes > 0 && b.bytes >= b.o.Bytes
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
	n := b.ready()
	switch {
	case n == 0:
		return nil, 0, b.closing && b.away == 0 && b.waiting == 0
	case b.away >= b.o.AtOnce:
		return nil, 0, false
	}
	if !b.full(n) && !b.closing {
		if b.hurried() {
			patience = 0
		}
		if wait = max(b.hold(n, now), b.since.Add(patience).Sub(now)); wait > 0 {
			return nil, wait, false
		}
	}
	b.away++
	b.since = now
	return b.take(), 0, false
}

// hold is how long n entries, which do not fill a batch, wait for more. The caller holds b.mu.
func (b *Batcher[T]) hold(n int, now time.Time) (wait time.Duration) {
	if b.tempo != nil {
		return b.tempo.until(b.since, now, b.away).Sub(now)
	}
	if b.away > 0 || n < b.expect {
		wait = b.since.Add(b.o.Longest).Sub(now)
		if b.away == 0 {
			wait = min(wait, b.landed.Add(b.o.Linger).Sub(now))
		}
	}
	return wait
}

// take removes the next batch from the queue. The caller holds b.mu.
func (b *Batcher[T]) take() *buffer[T] {
	batch := &buffer[T]{}
	if last := len(b.idle) - 1; last >= 0 {
		batch, b.idle = b.idle[last], b.idle[:last]
	}
	room := room{entries: b.o.Limit, bytes: b.o.Bytes}
	for b.queue.len() > 0 && room.fits(b.size(b.queue.at(0).v)) {
		batch.entries = b.queue.take(1, batch.entries)
		first := batch.entries[len(batch.entries)-1].v
		b.bytes -= b.size(first)
		if b.isUrgent(first) {
			b.urgent--
		}
		if b.o.Key != nil {
			batch.entries = b.takeLine(b.o.Key(first), &room, batch.entries)
		}
	}
	return batch
}

// takeLine is called when the first entry of a key is sent. It appends to the batch those entries of the key that may
// be sent with it. The other entries of the key wait until all of these have ended. The caller holds b.mu.
func (b *Batcher[T]) takeLine(key string, room *room, batch []entry[T]) []entry[T] {
	l := b.lines[key]
	l.out = 1
	b.follow(-len(l.waiting), -l.bytes)
	if b.o.Together {
		for len(l.waiting) > 0 {
			size := b.size(l.waiting[0].v)
			if !room.fits(size) {
				break
			}
			batch = append(batch, l.waiting[0])
			l.waiting, l.bytes, l.out = l.waiting[1:], l.bytes-size, l.out+1
		}
	}
	b.lines[key] = l
	return batch
}

// room is how much of a batch's limits is used. A limit of 0 means no limit.
type room struct{ entries, bytes, taken, sum int }

// fits reports whether one more entry fits, and counts it if so. The first entry always fits.
func (r *room) fits(size int) bool {
	if r.entries > 0 && r.taken >= r.entries || r.bytes > 0 && r.taken > 0 && r.sum+size > r.bytes {
		return false
	}
	r.taken++
	r.sum += size
	return true
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
	return b.queue.len()
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
			b.ended(gone[i].v)
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
		b.ended(ended[i].v)
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
	n := b.queue.len()
	rest := b.queue.take(n, make([]entry[T], 0, n))
	for i := range rest {
		b.bytes -= b.size(rest[i].v)
	}
	b.urgent = 0
	for _, e := range again {
		b.push(e)
	}
	for _, e := range rest {
		b.push(e)
	}
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
		b.ended(again[i].v)
	}
	b.mu.Unlock()
	b.nudge()
}
