package engine

// state is where an item is in its life.
type state uint8

const (
	gone      state = iota // it is not here: nothing is held for it
	behind                 // it waits behind another item of its lane
	queued                 // it is runnable
	aside                  // it waits for its tenant's share
	gathering              // a worker has put it into a batch that has not begun
	running                // with a handler, or with the caller of an iterator
	kept                   // its iterator's caller goes on without having settled it
	cancelled              // its handler was told to end
	abandoned              // its handler was told to end, and did not
	shelved                // its retry is held here until it is due
	settling               // a verdict on it is on its way to the service
	lost                   // its lease is gone, and it is still in somebody's hands
	states                 // how many there are
)

func (s state) String() string {
	return [...]string{"gone", "behind", "queued", "aside", "gathering", "running", "kept", "cancelled", "abandoned",
		"shelved", "settling", "lost"}[s]
}

// waiting says whether nobody has the item in hand, and no verdict on it is on its way.
func (s state) waiting() bool { return s == behind || s == queued || s == aside || s == shelved }

// inHand says whether a worker or an iterator's caller has it, and may settle it.
func (s state) inHand() bool { return s >= gathering && s <= abandoned }

// event is what happens to an item.
type event uint8

const (
	evArrive  event = iota // it was received
	evReady                // it is the first of its lane, and has one of its tenant's share
	evWait                 // it is the first of its lane, and its tenant has its share
	evGather               // a worker puts it into a batch
	evStart                // its handler begins
	evUndo                 // it goes back into its lane as if it had not been started
	evKeep                 // its iterator's caller keeps it
	evCancel               // its handler is told to end
	evAbandon              // its handler is given up
	evHold                 // a retry of it is held here
	evSettle               // there is a verdict on it
	evRelease              // it is given back, and was not started
	evFinish               // it is done, where the service is told by a later commit
	evLose                 // its lease or its source is gone
	evReturn               // whoever has the lost item in hand returns it
	evAnswer               // the service has answered the verdict
	events                 // how many there are
)

func (e event) String() string {
	return [...]string{"arrive", "ready", "wait", "gather", "start", "undo", "keep", "cancel", "abandon", "hold", "settle",
		"release", "finish", "lose", "return", "answer"}[e]
}

// edges is the one table of what may happen to an item, and where that leads.
var edges = []struct {
	from  state
	event event
	to    state
}{
	{gone, evArrive, behind},

	{behind, evReady, queued},
	{behind, evWait, aside},
	{behind, evGather, gathering}, // with the first of its lane
	{behind, evHold, shelved},     // near the limit of receives, it is not given back
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
	{running, evCancel, cancelled},
	{running, evHold, shelved},
	{running, evSettle, settling},
	{running, evFinish, gone},
	{running, evLose, lost},

	{kept, evHold, shelved},
	{kept, evSettle, settling},
	{kept, evFinish, gone},
	{kept, evUndo, behind},
	{kept, evLose, lost},

	{cancelled, evUndo, behind},
	{cancelled, evAbandon, abandoned},
	{cancelled, evHold, shelved},
	{cancelled, evSettle, settling},
	{cancelled, evFinish, gone},
	{cancelled, evLose, lost},

	{abandoned, evUndo, behind},
	{abandoned, evHold, shelved},
	{abandoned, evSettle, settling},
	{abandoned, evFinish, gone},
	{abandoned, evLose, lost},

	{settling, evAnswer, gone},
	{lost, evReturn, gone},
}

// lifecycle is edges, to be looked up; noEdge: that cannot happen.
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

// holding is a set of what is held for an item.
type holding uint16

const (
	hasPlace  holding = 1 << iota // one of the session's places
	hasShelf                      // room on the shelf, instead of a place
	hasBytes                      // its part of the byte budget
	hasLease                      // its lease is renewed
	hasLane                       // a position in its lane
	hasLine                       // a position on the bus
	hasAside                      // a position in its tenant's line
	hasTimer                      // a position among the held retries
	hasShare                      // one of its tenant's share
	hasStart                      // it counts as started at its source, whose revocation waits for it
	hasRun                        // it counts as running, and a shutdown waits for it
	hasSettle                     // it counts among the verdicts on their way
	hasStint                      // a handler has it that has not returned
	hasRenew                      // a renewal of its lease is on its way
	holdings  = iota              // how many there are
)

// Whatever waits holds these.
const (
	stays = hasBytes | hasLease | hasLane
	hands = hasPlace | stays | hasShare | hasStart | hasRun
)

// needs is what a state holds, of what an item can hold at all.
var needs = [states]holding{
	behind:    hasPlace | stays,
	queued:    hasPlace | stays | hasShare | hasLine,
	aside:     hasPlace | stays | hasAside,
	gathering: hands,
	running:   hands,
	kept:      hands,
	cancelled: hands,
	abandoned: hands,
	shelved:   hasPlace | stays | hasTimer,
	settling:  hasBytes | hasLease | hasStart | hasSettle,
	lost:      hands &^ hasLease,
}

// onShelf are the states in which an item may have room on the shelf instead of a place.
const onShelf = 1<<behind | 1<<aside | 1<<shelved

// outlasts is what an item may hold whatever its state: a handler may return, and a renewal be answered, after its end.
// But what waits again is no concern of the handler that had it.
const outlasts = hasStint | hasRenew

// move moves an item along an edge, and takes and returns what the two states differ in. It says whether there is such
// an edge: without one nothing happens, and somebody else had the item. The caller holds the fleet's lock.
func (f *flow) move(it *Item, e event) bool {
	to := lifecycle[it.state][e]
	if to == noEdge {
		return false
	}
	want := needs[to] & it.can
	if it.held&hasShelf != 0 && onShelf>>to&1 != 0 {
		want = want&^hasPlace | hasShelf
	}
	if give := it.held &^ (want | outlasts); give != 0 {
		f.ledger.give(it, give)
	}
	if to.waiting() && it.held&hasStint != 0 {
		it.stint = nil
		f.ledger.note(it, hasStint, false)
	}
	it.state = to
	if take := want &^ it.held; take != 0 {
		f.ledger.take(it, take)
	}
	if to == gone {
		f.ledger.recycle(it)
	}
	return true
}
