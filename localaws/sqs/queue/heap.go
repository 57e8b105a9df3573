package queue

// heap is a binary heap of items in which each item stores its index, so that any item can be removed.
type heap struct {
	items []*item
	less  func(a, b *item) bool
	at    func(*item) *int32 // where an item stores its index plus one; 0: not in the heap
}

func (h *heap) top() *item {
	if len(h.items) == 0 {
		return nil
	}
	return h.items[0]
}

func (h *heap) push(it *item) {
	h.items = append(h.items, it)
	h.up(len(h.items)-1, it)
}

// remove removes an item that is in the heap.
func (h *heap) remove(it *item) {
	i := int(*h.at(it)) - 1
	last := len(h.items) - 1
	moved := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	*h.at(it) = 0
	if i == last {
		return
	}
	if i > 0 && h.less(moved, h.items[(i-1)/2]) {
		h.up(i, moved)
		return
	}
	h.down(i, moved)
}

func (h *heap) up(i int, it *item) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(it, h.items[parent]) {
			break
		}
		h.put(i, h.items[parent])
		i = parent
	}
	h.put(i, it)
}

func (h *heap) down(i int, it *item) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if child+1 < len(h.items) && h.less(h.items[child+1], h.items[child]) {
			child++
		}
		if !h.less(h.items[child], it) {
			break
		}
		h.put(i, h.items[child])
		i = child
	}
	h.put(i, it)
}

func (h *heap) put(i int, it *item) {
	h.items[i] = it
	*h.at(it) = int32(i) + 1 //nolint:gosec // no heap has 2³¹ items
}
