package kafka

import (
	"time"

	"github.com/godwitmq/godwit/kafka/internal/parking"
)

// stage is where a message is in its life. What a stage may be followed by, and what a message holds in it, are the two
// tables below. A message whose epoch has ended has no stage any more: nothing of it counts.
type stage uint8

const (
	admitted  stage = iota // it is in its epoch's tracker, and where it goes is being decided
	waiting                // behind messages of its key that are in the core's hands, or read again and to go next
	delayed                // until it is due
	blocked                // due, and behind what is parked of its key
	moving                 // its copy is on its way to a tier: it is not handled now
	delivered              // in the core's hands
	retrying               // likewise, and on its way to where retries wait
	rejecting              // likewise, and its copy is on its way to the dead letters
	kept                   // its dead letter would not survive this process, so that nothing is committed past it
	finished               // its tracker passes it
)

// String is the stage's name, for tests and errors.
func (s stage) String() string {
	return [...]string{
		"admitted", "waiting", "delayed", "blocked", "moving", "delivered", "retrying", "rejecting",
		"kept", "finished",
	}[s]
}

// followers are the stages that may follow each stage.
var followers = [...]stages{
	admitted:  set(waiting, delayed, blocked, moving, delivered, finished), // finished: another copy of it is known
	waiting:   set(admitted),
	delayed:   set(admitted),
	blocked:   set(delayed), // due at once
	moving:    set(delayed, finished),
	delivered: set(delayed, retrying, rejecting, finished), // delayed: it was released
	retrying:  set(delivered, delayed, finished),           // delivered: it could not be copied
	rejecting: set(delivered, kept, finished),
	kept:      set(),
	finished:  set(),
}

// What a message holds besides its slot in the tracker, which it has until it is finished.
const (
	holdsPlace = 1 << iota // one of the core's places
	holdsKey               // while it is in the core's hands, its key's later messages wait
	holdsRoom              // of what may wait in this process
)

// holdings are what a message holds in each stage.
var holdings = [...]uint8{
	admitted:  holdsKey,
	waiting:   holdsRoom,
	delayed:   holdsRoom,
	blocked:   0,
	moving:    holdsKey,
	delivered: holdsPlace | holdsKey,
	retrying:  holdsPlace | holdsKey,
	rejecting: holdsPlace | holdsKey,
	kept:      0,
	finished:  0,
}

// stages is a set of stages.
type stages uint16

func set(ss ...stage) (all stages) {
	for _, s := range ss {
		all |= 1 << s
	}
	return all
}

func (ss stages) has(s stage) bool { return ss&(1<<s) != 0 }

// move takes a message to its next stage, and takes and returns what the two stages differ in. false: the message
// cannot go there, because its epoch has ended, or because it was settled before.
func (l *ledger) move(m *message, to stage) bool {
	if m.epoch.state == epochGone || !followers[m.stage].has(to) {
		return false
	}
	from := m.stage
	m.stage = to
	had, has := holdings[from], holdings[to]
	switch took, gave := has&^had, had&^has; {
	case took&holdsPlace != 0:
		l.intake.Occupy(&m.epoch.backlog)
	case gave&holdsPlace != 0:
		l.intake.Vacate(&m.epoch.backlog)
	}
	switch {
	case has&^had&holdsRoom != 0:
		m.epoch.wait(m, 1)
	case had&^has&holdsRoom != 0:
		m.epoch.wait(m, -1)
	}
	if has&holdsKey == 0 && m.stands != parking.Outside {
		l.leaveKey(m)
	}
	e := m.epoch
	if to == finished {
		l.finish(m, from)
	}
	if (to == finished || had&^has&holdsPlace != 0) && l.intake.Freed(&e.backlog) {
		l.wakeup.wake() // a poll that waits: something of the epoch may be admitted instead
	}
	return true
}

// leaveKey takes a message out of its key's hands, and out of its spot once it is over. The spot of a message that was
// copied to a tier is the copy's already.
func (l *ledger) leaveKey(m *message) {
	next, again := l.lots.leave(m, m.stage == kept || m.stage == finished)
	if next != nil {
		l.delay(next, time.Now())
	}
	if again {
		l.wakeup.wake()
	}
}

// finish lets the tracker pass a message. Nothing needs a message any more that was only delivered, and its memory is
// used again.
func (l *ledger) finish(m *message, from stage) {
	m.epoch.tracker.Finish(m.seq)
	m.epoch.open.remove(m)
	if ln := m.lane; ln != nil {
		m.epoch.lanes.part(m)
		if ln.lacks(l.sub.laneRoom(len(l.epochs))) {
			l.rereads.wake()
		}
	}
	if from != rejecting { // a record with a dead letter is not delivered again
		m.epoch.finished++
	}
	l.sub.recycle(m.record)
	m.record = nil
	if from == delivered && m.stands == parking.Outside {
		l.messages.put(m)
	}
}
