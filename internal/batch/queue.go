package batch

// queue is a FIFO queue that reuses its memory.
type queue[T any] struct {
	items []T
	head  int // index of the first item
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// at returns the i-th item from the front.
func (q *queue[T]) at(i int) *T { return &q.items[q.head+i] }

func (q *queue[T]) push(v T) {
	// Move the items to the front instead of growing.
	if q.head > 0 && len(q.items) == cap(q.items) && q.head >= len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// take removes the first n items and appends them to a slice.
func (q *queue[T]) take(n int, into []T) []T {
	first := q.items[q.head : q.head+n]
	into = append(into, first...)
	clear(first)
	if q.head += n; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return into
}

// buffer holds the slices of one batch. Later batches reuse it.
type buffer[T any] struct {
	entries []entry[T]
	vs      []T // the values of the entries
}

// reset clears the slices, so that they do not keep values alive.
func (p *buffer[T]) reset() {
	clear(p.entries)
	clear(p.vs)
	p.entries, p.vs = p.entries[:0], p.vs[:0]
}
