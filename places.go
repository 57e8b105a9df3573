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
	coming int64     // what the polls under way may bring
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

	// Guarded by bytes.mu.
	polls  int64 // under way
	brings int64 // what a poll has brought recently, and so what one under way may bring
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

// held is what the places are taken by: deliveries, and beside them verdicts on their way; and the bytes of all.
func (p *places) held() (taken, settling int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes.mu.Lock()
	defer p.bytes.mu.Unlock()
	return p.taken, p.settling, p.bytes.held
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

// tryTake takes n places for a poll, which ends with polled. The poller that waits is nudged when it is worth it.
func (p *places) tryTake(n int, waits bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free(n) && p.poll(waits)
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

// answerCost is what an answer under way takes while it is read and decoded, in sizes of what it brings.
const answerCost = 3

// poll begins a poll, if the budget has room for it. The first poller of a session asks for no room beside other polls,
// which may stay open without an answer for long; so one receive of each session may overshoot. Pollers that join it
// do.
func (p *places) poll(first bool) bool {
	b := p.bytes
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.room() || !first && b.held+b.coming*answerCost >= b.limit {
		return false
	}
	p.polls++
	b.coming += p.brings
	return true
}

// polled ends a poll that brought so many bytes, which are held already.
func (p *places) polled(size int64) {
	const weight = 8 // the largest of the recent ones counts, and is forgotten slowly
	p.bytes.change(func() {
		p.bytes.coming -= p.polls * p.brings
		p.polls--
		p.brings = max(size, p.brings-p.brings/weight)
		p.bytes.coming += p.polls * p.brings
	})
}

// room says whether less is held than the limit. The caller holds b.mu.
func (b *budget) room() bool { return b.held < b.limit }

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
