package batch

import "time"

// backlog has the entries that wait to be sent, in the order in which they were added. Of each key, one entry at most
// is queued. The others wait behind it, until it has ended, or to be sent with it. Guarded by the batcher's lock.
type backlog[T any] struct {
	o       *Options[T]
	queue   queue[entry[T]]
	since   time.Time // when the queue's first entry came, or when the batch before it left
	urgent  int       // urgent entries of the queue
	blocked int       // entries that wait for the end of a queued one of their key
	behind  int       // entries that may be sent together with a queued one of their key
	bytes   int       // of the queue and of the entries in behind
	// lines is by key; a key is listed while one of its entries is queued, in flight, or between two tries
	lines map[string]line[T]
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

// ready is the number of entries that the next batch could take.
func (b *backlog[T]) ready() int { return b.queue.len() + b.behind }

// hurried reports whether the queue must not wait for Patience.
func (b *backlog[T]) hurried() bool { return b.urgent > 0 || b.blocked > 0 }

// enqueue puts an entry onto the queue, or behind another of its key.
func (b *backlog[T]) enqueue(e entry[T]) {
	if !b.keyed(e.v) {
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

func (b *backlog[T]) push(e entry[T]) {
	if b.queue.len() == 0 { // the clock is read once a batch, not once an entry
		b.since = time.Now()
	}
	b.queue.push(e)
	if b.isUrgent(e.v) {
		b.urgent++
	}
	b.bytes += b.size(e.v)
}

// follow records that n more entries wait behind a queued one of their key.
func (b *backlog[T]) follow(n, bytes int) {
	if b.o.Together {
		b.behind, b.bytes = b.behind+n, b.bytes+bytes
	} else {
		b.blocked += n
	}
}

func (b *backlog[T]) keyed(v T) bool { return b.o.Key != nil && (b.o.Keyed == nil || b.o.Keyed(v)) }

func (b *backlog[T]) isUrgent(v T) bool { return b.o.Urgent != nil && b.o.Urgent(v) }

// size is 0 if Options.Size is not set.
func (b *backlog[T]) size(v T) int {
	if b.o.Size == nil {
		return 0
	}
	return b.o.Size(v)
}

// ended is called when an entry has ended. When no other entry of its key is in flight, the next one of the key is
// queued.
func (b *backlog[T]) ended(v T) {
	if !b.keyed(v) {
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

func (b *backlog[T]) full(n int) bool {
	return b.o.Limit > 0 && n >= b.o.Limit || b.o.Bytes > 0 && b.bytes >= b.o.Bytes
}

// take moves the entries of the next batch to a buffer.
func (b *backlog[T]) take(batch *buffer[T]) {
	room := room{entries: b.o.Limit, bytes: b.o.Bytes}
	for b.queue.len() > 0 && room.fits(b.size(b.queue.at(0).v)) {
		batch.entries = b.queue.take(1, batch.entries)
		first := batch.entries[len(batch.entries)-1].v
		b.bytes -= b.size(first)
		if b.isUrgent(first) {
			b.urgent--
		}
		if b.keyed(first) {
			batch.entries = b.takeLine(b.o.Key(first), &room, batch.entries)
		}
	}
}

// takeLine is called when the first entry of a key is sent. It appends to the batch those entries of the key that may
// be sent with it. The other entries of the key wait until all of these have ended.
func (b *backlog[T]) takeLine(key string, room *room, batch []entry[T]) []entry[T] {
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

// putBack queues entries that were sent already, in front of all others. Their keys are still busy.
func (b *backlog[T]) putBack(es []entry[T]) {
	n := b.queue.len()
	rest := b.queue.take(n, make([]entry[T], 0, n))
	for i := range rest {
		b.bytes -= b.size(rest[i].v)
	}
	b.urgent = 0
	for _, e := range es {
		b.push(e)
	}
	for _, e := range rest {
		b.push(e)
	}
}
