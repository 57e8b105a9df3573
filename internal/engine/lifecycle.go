package engine

// state is the state of an item.
type state uint8

const (
	gone      state = iota // it is not here, and holds nothing
	behind                 // it waits behind another item of its lane
	queued                 // it can start
	aside                  // it waits for its tenant's share
	gathering              // a worker has put it into a batch that has not begun
	running                // with a handler, or with the caller of an iterator
	kept                   // its iterator's caller continues and settles it later
	canceled               // its handler's context was canceled
	abandoned              // its handler's context was canceled, and it has not returned
	shelved                // its retry is held until it is due
	settling               // a verdict on it is being sent to the service
	lost                   // its lease has ended, and a handler or caller still has it
	states                 // number of states
)

func (s state) String() string {
	return [...]string{
		"gone", "behind", "queued", "aside", "gathering", "running", "kept", "canceled", "abandoned",
		"shelved", "settling", "lost",
	}[s]
}

// waiting reports whether the item waits: nobody has it in hand, and no verdict on it is being sent.
func (s state) waiting() bool { return s == behind || s == queued || s == aside || s == shelved }

// inHand reports whether a worker or an iterator's caller has it, and may settle it.
func (s state) inHand() bool { return s >= gathering && s <= abandoned }

// event is what happens to an item.
type event uint8

const (
	evArrive  event = iota // it was received
	evReady                // it is the head of its lane, and has a part of its tenant's share
	evWait                 // it is the head of its lane, and its tenant's share is used up
	evGather               // a worker puts it into a batch
	evStart                // its handler begins
	evUndo                 // it goes back into its lane as if it had not been started
	evKeep                 // its iterator's caller keeps it
	evCancel               // its handler's context is canceled
	evAbandon              // its handler is abandoned
	evHold                 // its retry is held
	evSettle               // there is a verdict on it
	evRelease              // it is released, and was not started
	evFinish               // it is done, and a later commit tells the service
	evLose                 // its lease or its source has ended
	evReturn               // the handler or caller of the lost item returns it
	evAnswer               // the service has answered the verdict
	events                 // number of events
)

func (e event) String() string {
	return [...]string{
		"arrive", "ready", "wait", "gather", "start", "undo", "keep", "cancel", "abandon", "hold", "settle",
		"release", "finish", "lose", "return", "answer",
	}[e]
}

// edges is the table of the events that are possible in each state, and the states that follow.
var edges = []struct {
	from  state
	event event
	to    state
}{
	{gone, evArrive, behind},

	{behind, evReady, queued},
	{behind, evWait, aside},
	{behind, evGather, gathering}, // with the head of its lane
	{behind, evHold, shelved},     // near the limit of receives, it is not released
	{behind, evRelease, settling},
	{behind, evLose, gone},

	{queued, evGather, gathering},
	{queued, evStart, running},
	{queued, evHold, shelved},
	{queued, evRelease, settling},
	{queued, evLose, gone},

	{aside, evReady, queued},
	{aside, evHold, shelved},
	{aside, evRelease, settling},
	{aside, evLose, gone},

	{shelved, evReady, queued},
	{shelved, evWait, aside},
	{shelved, evHold, shelved},
	{shelved, evRelease, settling},
	{shelved, evLose, gone},

	{gathering, evStart, running},
	{gathering, evUndo, behind},
	{gathering, evLose, lost},

	{running, evUndo, behind},
	{running, evKeep, kept},
	{running, evCancel, canceled},
	{running, evHold, shelved},
	{running, evSettle, settling},
	{running, evFinish, gone},
	{running, evLose, lost},

	{kept, evHold, shelved},
	{kept, evSettle, settling},
	{kept, evFinish, gone},
	{kept, evUndo, behind},
	{kept, evLose, lost},

	{canceled, evUndo, behind},
	{canceled, evAbandon, abandoned},
	{canceled, evHold, shelved},
	{canceled, evSettle, settling},
	{canceled, evFinish, gone},
	{canceled, evLose, lost},

	{abandoned, evUndo, behind},
	{abandoned, evHold, shelved},
	{abandoned, evSettle, settling},
	{abandoned, evFinish, gone},
	{abandoned, evLose, lost},

	{settling, evAnswer, gone},
	{lost, evReturn, gone},
}

// lifecycle is edges for lookups; noEdge: the event is not possible.
var lifecycle = func() (table [states][events]state) {
	for s := range table {
		for e := range table[s] {
			table[s][e] = noEdge
		}
	}
	for _, e := range edges {
		table[e.from][e.event] = e.to
	}
	return table
}()

const noEdge = states

// holding is a set of what an item holds.
type holding uint16

const (
	hasPlace  holding = 1 << iota // one of the session's places
	hasBehind                     // it counts among the items behind others, instead of in a place
	hasShelf                      // room on the shelf, instead of either
	hasBytes                      // its part of the byte budget
	hasLease                      // its lease is renewed
	hasLane                       // a position in its lane
	hasLine                       // a position on the bus
	hasAside                      // a position in its tenant's line
	hasTimer                      // a position among the held retries
	hasShare                      // a part of its tenant's share
	hasStart                      // it counts as started at its source, whose revocation waits for it
	hasRun                        // it counts as running, and a shutdown waits for it
	hasSettle                     // it counts among the verdicts in flight
	hasStint                      // a handler has it that has not returned
	hasRenew                      // a renewal of its lease is in flight
	holdings  = iota              // number of holdings
)

// What waiting items hold, and items in hand.
const (
	stays = hasBytes | hasLease | hasLane
	hands = hasPlace | stays | hasShare | hasStart | hasRun
)

// needs is what each state holds, as far as the item can hold it.
var needs = [states]holding{
	behind:    hasPlace | stays,
	queued:    hasPlace | stays | hasShare | hasLine,
	aside:     hasPlace | stays | hasAside,
	gathering: hands,
	running:   hands,
	kept:      hands,
	canceled:  hands,
	abandoned: hands,
	shelved:   hasPlace | stays | hasTimer,
	settling:  hasBytes | hasLease | hasStart | hasSettle,
	lost:      hands &^ hasLease,
}

// onShelf are the states in which an item may have room on the shelf instead of a place.
const onShelf = 1<<behind | 1<<aside | 1<<shelved

// outlasts is what an item may hold in any state, because a handler may return, and a renewal be answered, after its
// end. When an item waits again, it is no longer the item of the handler that had it.
const outlasts = hasStint | hasRenew

// move moves an item for an event, and takes and returns the difference between what both states hold. It reports
// whether the event is possible in the item's state. If not, nothing changes: someone else had the item. The caller
// holds the fleet's lock.
func (l *ledger) move(it *Item, e event) bool {
	to := lifecycle[it.state][e]
	if to == noEdge {
		return false
	}
	want := needs[to] & it.can
	switch {
	case it.held&hasShelf != 0 && onShelf>>to&1 != 0:
		want = want&^hasPlace | hasShelf
	case to == behind && l.places.lanes:
		want = want&^hasPlace | hasBehind
	}
	keeps := want | outlasts
	if to.waiting() {
		keeps &^= hasStint
	}
	if give := it.held &^ keeps; give != 0 {
		l.give(it, give)
	}
	it.state = to
	if take := want &^ it.held; take != 0 {
		l.take(it, take)
	}
	if to == gone {
		l.recycle(it)
	}
	return true
}
