package kafka

import (
	"sync"

	"github.com/godwitmq/godwit/driver"
)

// notes is what the core has told by Finish and Started, until the ledger takes it in. The core may hold a lock of its
// own while it tells: a note is appended under a lock that nobody holds for longer than that, and at most a poll that
// waits is ended.
type notes struct {
	mu   sync.Mutex
	all  []note
	many int // so many notes end a poll that waits; 0: none does
}

// note is about one delivery.
type note struct {
	handle driver.Handle
	starts int32 // it was started so often; 0: it is done
}

// add returns whether a poll that waits has to look at the notes.
func (ns *notes) add(n note) (enough bool) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.all = append(ns.all, n)
	if ns.many == 0 || len(ns.all) < ns.many {
		return false
	}
	ns.many = 0
	return true
}

// take returns all notes, in the order in which they came. into is used for the next ones.
func (ns *notes) take(into []note) []note {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	all := ns.all
	ns.all = into[:0]
	return all
}

// await says that so many notes end a poll that is about to wait; 0: none does. enough: there are so many already.
func (ns *notes) await(many int) (enough bool) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if many > 0 && len(ns.all) >= many {
		ns.many = 0
		return true
	}
	ns.many = many
	return false
}
