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

// Options say how a Batcher works. Send and Done are required.
//
// Size, Key and Urgent are called by Add, under the batcher's lock: they look at their argument only. All other functions are
// called from goroutines of the batcher, and while it holds no lock: they may take a lock under which Add is called, and
// they may call Add.
type Options[T any] struct {
	Limit int              // entries in a batch; 0: any number
	Bytes int              // sum of Size in a batch; 0: no bound
	Size  func(v T) int    // required with Bytes
	Key   func(v T) string // entries of one key travel one after another; nil: no order is kept
	// Together lets entries of one key travel in one batch, in the order in which they came; never in two batches at once.
	// An entry that is repeated alone is then behind those of its batch that succeeded.
	Together bool

	AtOnce  int           // batches under way; 0: one
	Linger  time.Duration // how long to wait, after an answer, for those who were answered to come back
	Longest time.Duration // how long an entry waits for others at most
	// Adapt makes Linger and Longest upper bounds. An entry waits for others only while others are likely to come within half
	// of the wait; then for half of a call's time, or for a sixteenth of it where the entries are those of callers in a loop,
	// who come back as soon as they are answered. So a lone entry is never held up, whatever is under way.
	Adapt bool
	// Patience is asked how long a batch that is not full waits whatever is under way: for entries that come slowly and
	// are not urgent. 0, or nil: no longer than the above says. An entry does not wait so long when another of its key
	// waits for its end.
	Patience func() time.Duration
	// Urgent says that an entry does not wait for as long as Patience says, nor does what is queued with it. nil: none is
	// urgent.
	Urgent func(v T) bool

	// Take is asked just before an entry leaves; false: it is withdrawn, and Done is not called. nil: always true.
	Take func(v T) bool
	// Send sends a batch, and does not retain it. A *driver.BatchError names the entries that failed.
	Send func(ctx context.Context, batch []T) error
	// Again is how long to wait before an entry that failed its try-th time is repeated; negative: it is not, and
	// Done gets the error. nil: nothing is repeated.
	Again func(v T, err error, try int) time.Duration
	// Done gets every entry's end.
	Done func(v T, err error)
	// Landed, if there is one, gets the entries that succeeded instead of Done: those of one call together. It does not retain
	// them.
	Landed func(vs []T)
}

// Batcher joins entries into batches. Safe for concurrent use.
type Batcher[T any] struct {
	o      Options[T]
	ctx    context.Context // of every Send; ends when Close gives up
	giveUp context.CancelFunc
	wake   chan struct{} // holds one
	done   chan struct{}
	wg     sync.WaitGroup  // carriers
	carry  chan *parcel[T] // to a carrier that is idle
	spare  atomic.Int32    // carriers that are

	mu      sync.Mutex
	queue   queue[entry[T]]
	idle    []*parcel[T]       // for batches to come
	tempo   *tempo             // nil: Options.Adapt is not set
	since   time.Time          // when its first entry came, or the batch before it left
	urgent  int                // entries of the queue that are
	blocked int                // entries that wait for the end of one of their key that is queued
	behind  int                // entries that may travel with one of their key that is queued
	bytes   int                // of the queue, and of those
	lines   map[string]line[T] // by key, while one of its entries is queued or away
	away    int                // batches under way
	waiting int                // entries between two tries
	expect  int                // entries that may be here soon: those queued when a batch was answered, and those answered
	landed  time.Time          // when it was
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
	out     int        // entries in a batch under way, or between two tries; 0: the first of the line is queued
}

// New starts a Batcher; Close ends it.
func New[T any](o Options[T]) *Batcher[T] {
	o.AtOnce = max(o.AtOnce, 1)
	b := &Batcher[T]{o: o, wake: make(chan struct{}, 1), done: make(chan struct{}), lines: map[string]line[T]{}}
	b.carry = make(chan *parcel[T])
	if o.Adapt {
		b.tempo = newTempo(o.Linger, o.Longest)
	}
	b.ctx, b.giveUp = context.WithCancel(context.Background())
	go b.loop()
	return b
}

// Add queues entries, which leave in this order, and says whether it did: not after Close. It neither blocks nor calls Take,
// Send, Again, Done, Landed or Patience, so that its caller may hold a lock that these functions take.
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

// nudgeAfter says whether the loop has something to look at now that the queue has grown. The caller holds b.mu.
func (b *Batcher[T]) nudgeAfter(before int) bool {
	n := b.ready()
	return n > before && (before == 0 || b.full(n) || b.away == 0 && before < b.expect && n >= b.expect)
}

// ready is how many entries a batch could take. The caller holds b.mu.
func (b *Batcher[T]) ready() int { return b.queue.len() + b.behind }

// hurried says whether the queue has no Patience. The caller holds b.mu.
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

// follow notes that n entries more wait behind one of their key that is queued. The caller holds b.mu.
func (b *Batcher[T]) follow(n, bytes int) {
	if b.o.Together {
		b.behind, b.bytes = b.behind+n, b.bytes+bytes
	} else {
		b.blocked += n
	}
}

func (b *Batcher[T]) isUrgent(v T) bool { return b.o.Urgent != nil && b.o.Urgent(v) }

// size is 0 where nobody counts.
func (b *Batcher[T]) size(v T) int {
	if b.o.Size == nil {
		return 0
	}
	return b.o.Size(v)
}

// unline notes that an entry has ended. When none of its key is under way any more, the next of them is queued. The caller
// holds b.mu.
func (b *Batcher[T]) unline(v T) {
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
func (b *Batcher[T]) dispatch(batch *parcel[T]) {
	select {
	case b.carry <- batch:
	default:
		b.wg.Go(func() { b.carrier(batch) })
	}
}

// carrier sends one batch after another. Its stack has grown with the first, which a new goroutine for each batch would
// pay for every time: a client of a service can be a hundred calls deep.
func (b *Batcher[T]) carrier(batch *parcel[T]) {
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

// patience is asked before the batcher's lock is taken: its answer may need a lock under which Add is called.
func (b *Batcher[T]) patience() time.Duration {
	if b.o.Patience == nil {
		return 0
	}
	return b.o.Patience()
}

// next takes the next batch, or says how long to wait for one (0: until woken), or that there will be none.
func (b *Batcher[T]) next(now time.Time, patience time.Duration) (batch *parcel[T], wait time.Duration, over bool) {
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

// hold is how long n entries, which do not fill a batch, wait for others. The caller holds b.mu.
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

// take cuts a batch off the queue. The caller holds b.mu.
func (b *Batcher[T]) take() *parcel[T] {
	batch := &parcel[T]{}
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

// takeLine notes that the first entry of a key leaves, and appends to a batch those that may go with it. The others wait until
// all that left have ended. The caller holds b.mu.
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

// room is what is left of a batch's limits, 0 being none of them.
type room struct{ entries, bytes, taken, sum int }

// fits says whether one more entry fits, and takes its room then. The first always does.
func (r *room) fits(size int) bool {
	if r.entries > 0 && r.taken >= r.entries || r.bytes > 0 && r.taken > 0 && r.sum+size > r.bytes {
		return false
	}
	r.taken++
	r.sum += size
	return true
}

// send makes one call with a batch and sees to each entry's answer. Entries that are to be repeated as a batch of their own are
// returned after their wait.
func (b *Batcher[T]) send(p *parcel[T]) (next *parcel[T]) {
	batch := b.present(p.entries)
	for i := range batch {
		p.vs = append(p.vs, batch[i].v)
	}
	vs := p.vs
	var err error
	if len(vs) > 0 {
		err = b.timed(vs)
	}
	expect := b.queued() + len(batch) // before anyone is answered: they may be back before we have landed
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
			vs[len(ended)-refused] = e.v // what stood there is further on in batch
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

// timed makes one call.
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
	b.tempo.land(len(vs), now) // before anyone is answered: they may be back at once
	return err
}

func (b *Batcher[T]) queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.len()
}

// present drops the entries that were withdrawn before they left.
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
			b.unline(gone[i].v)
		}
		b.mu.Unlock()
	}
	return here
}

// again says how long an entry waits before it is repeated; negative: it is not.
func (b *Batcher[T]) again(e *entry[T], failed error) time.Duration {
	if failed == nil || b.o.Again == nil || b.ctx.Err() != nil {
		return -1
	}
	e.tries++
	return b.o.Again(e.v, failed, e.tries)
}

// land makes room for the next batch, and lets the entries behind those that ended go.
func (b *Batcher[T]) land(expect int, ended []entry[T], again int, p *parcel[T]) {
	b.mu.Lock()
	b.away--
	b.expect, b.landed = expect, time.Now()
	b.waiting += again
	for i := range ended {
		b.unline(ended[i].v)
	}
	if p.empty(); len(b.idle) < b.o.AtOnce {
		b.idle = append(b.idle, p)
	}
	b.mu.Unlock()
	b.nudge()
}

// repeat puts entries back at the front once their wait is over. Their keys stay taken, so that nothing overtakes them. Where
// several may be of one key they leave together, since the queue could part them.
func (b *Batcher[T]) repeat(again []entry[T], wait time.Duration) (next *parcel[T]) {
	if err := backoff.Sleep(b.ctx, wait); err != nil {
		b.giveUpOn(again, err)
		return nil
	}
	b.mu.Lock()
	b.waiting -= len(again)
	if b.o.Together {
		b.away++
		b.mu.Unlock()
		return &parcel[T]{entries: again}
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

// giveUpOn ends entries whose wait was cut short.
func (b *Batcher[T]) giveUpOn(again []entry[T], err error) {
	for _, e := range again {
		b.o.Done(e.v, err)
	}
	b.mu.Lock()
	b.waiting -= len(again)
	for i := range again {
		b.unline(again[i].v)
	}
	b.mu.Unlock()
	b.nudge()
}
