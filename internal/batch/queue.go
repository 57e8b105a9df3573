package batch

// queue is first in, first out. What it is made of is used again and again.
type queue[T any] struct {
	items []T
	head  int // where the first is
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// at is the i-th from the front.
func (q *queue[T]) at(i int) *T { return &q.items[q.head+i] }

func (q *queue[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 { // rather than growing
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// take appends the first n to a slice.
func (q *queue[T]) take(n int, into []T) []T {
	first := q.items[q.head : q.head+n]
	into = append(into, first...)
	clear(first)
	if q.head += n; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return into
}

// parcel is the room that a batch is sent in, used again by later ones.
type parcel[T any] struct {
	entries []entry[T]
	vs      []T // of the entries
}

// empty forgets what was in it.
func (p *parcel[T]) empty() {
	clear(p.entries)
	clear(p.vs)
	p.entries, p.vs = p.entries[:0], p.vs[:0]
}
