package engine

import "container/heap"

// retries are the items whose retry is held, the earliest first. It is a heap and not a list like the timeline of
// leases, because the delays of retries differ a lot. Guarded by the fleet's lock.
type retries []*Item

func (r *retries) add(it *Item)    { heap.Push(r, it) }
func (r *retries) remove(it *Item) { heap.Remove(r, it.heapAt) }

// due returns the first item if it is due, or nil. It does not remove it.
func (r retries) due(by moment) *Item {
	if len(r) == 0 || r[0].until > by {
		return nil
	}
	return r[0]
}

// first is when the first item is due; never: there is none.
func (r retries) first() moment {
	if len(r) == 0 {
		return never
	}
	return r[0].until
}

// inPlaces is how many have a place instead of room on the shelf.
func (r retries) inPlaces() (n int) {
	for _, it := range r {
		if it.held&hasPlace != 0 {
			n++
		}
	}
	return n
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r retries) Len() int           { return len(r) }
func (r retries) Less(i, j int) bool { return r[i].until < r[j].until }
func (r retries) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].heapAt, r[j].heapAt = i, j
}

func (r *retries) Push(x any) {
	it := x.(*Item)
	it.heapAt = len(*r)
	*r = append(*r, it)
}

func (r *retries) Pop() any {
	old := *r
	last := len(old) - 1
	it := old[last]
	old[last] = nil
	*r = old[:last]
	return it
}
