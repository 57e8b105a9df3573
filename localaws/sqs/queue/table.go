package queue

// table stores items under numbers that are assigned in order. A queue has one for all its items and one for those that
// are ready for the first time. Items that arrive together are stored together, removing any item takes constant time,
// and emptied pages are freed.
type table struct {
	pages       map[int64]*page
	first, next int64 // all numbers are in [first, next)
	n           int
	spare       *page // an empty page, kept for a table that often becomes empty
}

// pageSize is the number of items per page: small enough that a single item does not keep much memory, large enough
// that there are few pages.
const pageSize = 512

type page struct {
	slots [pageSize]*item
	n     int
}

// newTable returns an empty table whose first number, above 0, is given.
func newTable(first int64) table { return table{pages: map[int64]*page{}, first: first, next: first} }

func (t *table) at(number int64) *item {
	if number < t.first || number >= t.next {
		return nil
	}
	if p := t.pages[number/pageSize]; p != nil {
		return p.slots[number%pageSize]
	}
	return nil
}

// push adds an item behind all others and returns its number, which is never 0.
func (t *table) push(it *item) int64 {
	t.put(t.next, it)
	t.next++
	return t.next - 1
}

// restore adds an item under an unused number, before all others or among them.
func (t *table) restore(number int64, it *item) {
	t.put(number, it)
	t.first = min(t.first, number)
}

func (t *table) put(number int64, it *item) {
	p := t.pages[number/pageSize]
	if p == nil {
		if p, t.spare = t.spare, nil; p == nil {
			p = &page{}
		}
		t.pages[number/pageSize] = p
	}
	p.slots[number%pageSize] = it
	p.n++
	t.n++
}

// remove removes the item with a number; it must exist.
func (t *table) remove(number int64) {
	p := t.pages[number/pageSize]
	p.slots[number%pageSize] = nil
	t.n--
	if p.n--; p.n == 0 {
		delete(t.pages, number/pageSize)
		t.spare = p
	}
}

// head returns the item with the smallest number, or nil.
func (t *table) head() *item {
	for t.n > 0 {
		p := t.pages[t.first/pageSize]
		if p == nil {
			t.first = (t.first/pageSize + 1) * pageSize
			continue
		}
		if it := p.slots[t.first%pageSize]; it != nil {
			return it
		}
		t.first++
	}
	return nil
}

// all yields the items in order of their numbers.
func (t *table) all(yield func(*item) bool) {
	if t.head() == nil {
		return
	}
	for number := t.first; number < t.next; number++ {
		p := t.pages[number/pageSize]
		if p == nil {
			number = (number/pageSize+1)*pageSize - 1
			continue
		}
		if it := p.slots[number%pageSize]; it != nil && !yield(it) {
			return
		}
	}
}
