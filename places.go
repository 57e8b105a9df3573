package godwit

import (
	"context"
	"sync"
	"time"
)

// budget bounds the bytes that the deliveries of one or more sessions hold together.
type budget struct {
	mu     sync.Mutex
	limit  int64
	held   int64
	polls  int64     // under way
	brings int64     // what a poll has brought of late, and so what one under way may bring
	wait   []*places // whom to wake when it is under the limit again
}

const (
	// shelfSize and shelfPart bound the shelf: deliveries, and the part of the bytes that all deliveries may have.
	shelfSize = 1000
	shelfPart = 4
)

// places bounds the deliveries a session holds: a poll takes its permit before it asks the service for anything. Lanes that
// wait for a retry stand on a shelf, which has a bound of its own: else a few of them would keep everything else out.
type places struct {
	bytes *budget
	wake  chan struct{} // holds one: something was given back

	mu       sync.Mutex
	size     int       // places in all
	wanted   int       // by who waits in take; 0: nobody does
	taken    int       // by deliveries and by polls under way
	settling int       // verdicts on their way to the service, bounded by size too
	shelved  int       // deliveries on the shelf
	shelf    int64     // bytes on the shelf
	lacking  time.Time // since when a poll waits for places; zero: none does
}

func newPlaces(size int, bytes *budget) *places {
	p := &places{size: size, bytes: bytes, wake: make(chan struct{}, 1)}
	bytes.mu.Lock()
	bytes.wait = append(bytes.wait, p)
	bytes.mu.Unlock()
	return p
}

// take waits for n places and for bytes; it fails when ctx ends. Only one goroutine may wait at a time.
func (p *places) take(ctx context.Context, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			p.waits(false)
			return err
		}
		if p.tryTake(n, true) {
			p.waits(false)
			return nil
		}
		p.waits(true)
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// waits notes whether a poll waits for places.
func (p *places) waits(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !yes:
		p.lacking = time.Time{}
	case p.lacking.IsZero():
		p.lacking = time.Now()
	}
}

// lackingSince is since when a poll waits for places; zero: none does.
func (p *places) lackingSince() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lacking
}

// shelve moves n deliveries of so many bytes to the shelf, if it has room for them.
func (p *places) shelve(n int, size int64) (ok bool) {
	p.change(func() {
		if ok = p.shelved+n <= shelfSize && p.shelf+size <= p.bytes.limit/shelfPart; ok {
			p.shelved, p.shelf, p.taken = p.shelved+n, p.shelf+size, p.taken-n
		}
	})
	return ok
}

// shelveBeside moves one delivery to the shelf, if there is more room on it than its tenant has there already: n
// deliveries of so many bytes. So one tenant takes half of the shelf, a second one half of the rest.
func (p *places) shelveBeside(n int, bytes, size int64) (ok bool) {
	p.change(func() {
		ok = n < shelfSize-p.shelved && bytes+size <= p.bytes.limit/shelfPart-p.shelf
		if ok {
			p.shelved, p.shelf, p.taken = p.shelved+1, p.shelf+size, p.taken-1
		}
	})
	return ok
}

// unshelve takes deliveries off the shelf. There may be more of them than places are free: then polls wait.
func (p *places) unshelve(n int, size int64) {
	p.change(func() { p.shelved, p.shelf, p.taken = p.shelved-n, p.shelf-size, p.taken+n })
}

// tryTake takes n places for a poll, which ends with polled of the budget. Who waits is nudged when it is worth it.
func (p *places) tryTake(n int, waits bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free(n) && p.bytes.poll()
	if free {
		p.taken += n
	}
	if waits {
		p.wanted = n
		if free {
			p.wanted = 0
		}
	}
	return free
}

// free says whether there are n places. The caller holds p.mu.
func (p *places) free(n int) bool { return p.taken+n <= p.size && p.settling <= p.size }

// change wakes who waits, once there are the places it wants: not for each single one of them.
func (p *places) change(f func()) {
	p.mu.Lock()
	f()
	wake := p.wanted > 0 && p.free(p.wanted)
	p.mu.Unlock()
	if wake {
		p.nudge()
	}
}

// keep counts the bytes of a delivery that came.
func (p *places) keep(size int64) {
	p.bytes.mu.Lock()
	p.bytes.held += size
	p.bytes.mu.Unlock()
}

// grow changes the number of places; what is taken beyond them is given back by and by.
func (p *places) grow(more int) {
	p.change(func() { p.size = max(1, p.size+more) })
}

// giveBack frees n places that no delivery came to fill, or whose delivery is gone.
func (p *places) giveBack(n int) {
	if n > 0 {
		p.change(func() { p.taken -= n })
	}
}

// settle turns a place into a verdict under way.
func (p *places) settle() {
	p.change(func() {
		p.taken--
		p.settling++
	})
}

// settled ends the way of n verdicts, and with it the life of deliveries of that many bytes.
func (p *places) settled(n int, size int64) {
	p.change(func() { p.settling -= n })
	p.bytes.release(size)
}

func (p *places) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// poll begins a poll, if what is held and what is on its way leave room for it. One is always possible while less is
// held than the limit, so one receive may overshoot.
func (b *budget) poll() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.room() {
		return false
	}
	b.polls++
	return true
}

// room says whether one more poll may begin. The caller holds b.mu.
func (b *budget) room() bool { return b.held+b.polls*b.brings < b.limit }

// polled ends a poll that brought so many bytes, which are held already.
func (b *budget) polled(size int64) {
	const weight = 8 // the largest of late counts, and is forgotten slowly
	b.change(func() {
		b.polls--
		b.brings = max(size, b.brings-b.brings/weight)
	})
}

func (b *budget) release(size int64) { b.change(func() { b.held -= size }) }

// change wakes those who wait, when it makes room.
func (b *budget) change(f func()) {
	b.mu.Lock()
	was := b.room()
	f()
	wake := !was && b.room()
	waiting := b.wait
	b.mu.Unlock()
	if wake {
		for _, p := range waiting {
			p.nudge()
		}
	}
}
