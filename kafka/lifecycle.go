package kafka

import (
	"time"

	"github.com/godwitmq/godwit/kafka/internal/parking"
)

// stage is what happens to a message at present. The two tables below say which stages may follow a stage, and what a
// message holds in it. When the message's epoch has ended, the stage has no meaning.
type stage uint8

const (
	admitted  stage = iota // in its epoch's tracker; its next stage is being decided
	waiting                // behind delivered messages of its key; or read again, for the next round
	delayed                // until it is due
	blocked                // due, but behind parked messages of its key
	moving                 // its copy is being published to a tier; no handler gets it here
	delivered              // held by the core
	retrying               // held by the core, and its copy is being published to where retries wait
	rejecting              // held by the core, and its copy is being published to the dead letters
	kept                   // its dead letter ends with this process, so no commit may pass it
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
	admitted:  set(waiting, delayed, blocked, moving, delivered, finished), // finished: its key has another copy of it
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

// A message can hold these things in addition to its slot in the tracker, which it holds until it is finished.
const (
	holdsPlace = 1 << iota // one of the core's places
	holdsKey               // later messages of its key wait
	holdsRoom              // room among the messages that wait in this process
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

// move moves a message to its next stage, and takes and returns the difference between what the two stages hold. It
// returns false if the message cannot go there: its epoch has ended, or it was settled before.
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
		l.wakeup.wake() // a poll that waits: another record of the epoch may be admitted now
	}
	return true
}

// leaveKey ends the delivery of a message in its key's lot, and removes a kept or finished message from the lot. The
// spot of a message that was copied to a tier already belongs to the copy.
func (l *ledger) leaveKey(m *message) {
	next, again := l.lots.leave(m, m.stage == kept || m.stage == finished)
	if next != nil {
		l.delay(next, time.Now())
	}
	if again {
		l.wakeup.wake()
	}
}

// finish lets the tracker pass a message. The memory of a message that was only delivered is used again, because
// nothing else refers to it.
func (l *ledger) finish(m *message, from stage) {
	m.epoch.tracker.Finish(m.seq)
	m.epoch.open.remove(m)
	if ln := m.lane; ln != nil {
		m.epoch.lanes.remove(m)
		if ln.lacks(l.sub.laneRoom(len(l.epochs))) {
			l.rereads.wake()
		}
	}
	if from != rejecting { // a record with a dead letter is not delivered again after a crash
		m.epoch.finished++
	}
	if l.finished++; l.finished == l.sub.commitRecords() {
		select {
		case l.enough <- struct{}{}:
		default:
		}
	}
	l.sub.recycle(m.record)
	m.record = nil
	if from == delivered && m.stands == parking.Outside {
		l.messages.put(m)
	}
}
