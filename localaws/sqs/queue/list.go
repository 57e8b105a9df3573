package queue

// link holds the neighbours of an element in a list.
type link[T any] struct{ prev, next *T }

// list is a doubly linked list whose links are stored in its elements, so that removing an element needs no search and
// no allocation.
type list[T any] struct {
	head, tail *T
	link       func(*T) *link[T]
}

func (l *list[T]) pushBack(e *T) {
	at := l.link(e)
	at.prev, at.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.link(l.tail).next = e
	}
	l.tail = e
}

func (l *list[T]) pushFront(e *T) {
	at := l.link(e)
	at.prev, at.next = nil, l.head
	if l.head == nil {
		l.tail = e
	} else {
		l.link(l.head).prev = e
	}
	l.head = e
}

// remove removes an element that is in the list.
func (l *list[T]) remove(e *T) {
	at := l.link(e)
	if at.prev == nil {
		l.head = at.next
	} else {
		l.link(at.prev).next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		l.link(at.next).prev = at.prev
	}
	at.prev, at.next = nil, nil
}
