package queue

// table holds items under numbers that are given out in order. It is what a
// queue knows its items by, and the line of those that are ready: neighbours in
// time are neighbours in memory, removal anywhere costs nothing, and what is
// emptied is freed by pages.
type table struct {
	pages       map[int64]*page
	first, next int64 // all items are at first ≤ number < next
	n           int
	spare       *page // an empty one, kept for a table that keeps running empty
}

// pageSize is how many numbers share a page: few enough that one item keeps
// little memory, many enough that pages are rare.
const pageSize = 512

type page struct {
	slots [pageSize]*item
	n     int
}

// newTable returns an empty table that begins at a number above 0.
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

// push puts an item behind all others and returns its number, which is never 0.
func (t *table) push(it *item) int64 {
	t.put(t.next, it)
	t.next++
	return t.next - 1
}

// restore puts an item under a number that is free, before all others or among
// them.
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

// remove takes out the item under a number; there must be one.
func (t *table) remove(number int64) {
	p := t.pages[number/pageSize]
	p.slots[number%pageSize] = nil
	t.n--
	if p.n--; p.n == 0 {
		delete(t.pages, number/pageSize)
		t.spare = p
	}
}

// head is the item with the smallest number, nil without any.
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
