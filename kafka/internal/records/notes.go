package records

import (
	"sync"

	"github.com/godwitmq/godwit/driver"
)

// notes are what the core reports by Finish and Started, until the ledger reads it. The core may hold its own lock
// while it reports. So a note is appended under a lock that is held only for that, and nothing else happens except that
// the wait of a poll may end.
type notes struct {
	mu   sync.Mutex
	all  []note
	read []note // the memory of the notes that were taken last
	many int    // this number of notes ends the wait of a poll; 0: notes do not end it
}

// note is a report about one delivery.
type note struct {
	handle driver.Handle
	starts int32 // number of starts; 0: the delivery is done
}

// add appends a note; enough: the poll's wait must end.
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

// take returns all notes, in the order of add. They are valid until the next take.
func (ns *notes) take() []note {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	ns.all, ns.read = ns.read[:0], ns.all
	return ns.read
}

// await sets how many notes end the wait of the next poll; 0: notes do not end it. enough: there are that many already.
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
