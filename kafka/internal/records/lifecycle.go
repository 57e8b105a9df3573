package records

import (
	"time"

	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/parking"
)

// stage is what happens to a message at present. The two tables below say which stages may follow a stage, and what a
// message holds in it. When the message's epoch has ended, the stage has no meaning.
type stage uint8

const (
	admitted   stage = iota // in its epoch's tracker; its next stage is being decided
	waiting                 // behind delivered messages of its key; or read again, for the next round
	delayed                 // until it is due
	blocked                 // due, but behind parked messages of its key
	moving                  // its copy is being published to a tier; no handler gets it here
	delivered               // held by the core
	publishing              // handled; its result waits for its transaction
	retrying                // held by the core, and its copy is being published to where retries wait
	rejecting               // held by the core, and its copy is being published to the dead letters
	kept                    // its dead letter ends with this process, so no commit may pass it
	finished                // its tracker passes it
)

// String is the stage's name, for tests and errors.
func (s stage) String() string {
	return [...]string{
		"admitted", "waiting", "delayed", "blocked", "moving", "delivered", "publishing", "retrying", "rejecting",
		"kept", "finished",
	}[s]
}

// followers are the stages that may follow each stage.
var followers = [...]stages{
	admitted:   set(waiting, delayed, blocked, moving, delivered, finished), // finished: its key has another copy of it
	waiting:    set(admitted),
	delayed:    set(admitted),
	blocked:    set(delayed), // due at once
	moving:     set(delayed, finished),
	delivered:  set(delayed, publishing, retrying, rejecting, finished), // delayed: it was released
	publishing: set(finished),
	retrying:   set(delivered, delayed, finished), // delivered: it could not be copied
	rejecting:  set(delivered, kept, finished),
	kept:       set(),
	finished:   set(),
}

// A message can hold these things in addition to its slot in the tracker, which it holds until it is finished.
const (
	holdsPlace = 1 << iota // one of the core's places
	holdsKey               // later messages of its key wait
	holdsRoom              // room among the messages that wait in this process
)

// holdings are what a message holds in each stage.
var holdings = [...]uint8{
	admitted:   holdsKey,
	waiting:    holdsRoom,
	delayed:    holdsRoom,
	blocked:    0,
	moving:     holdsKey,
	delivered:  holdsPlace | holdsKey,
	publishing: holdsPlace,
	retrying:   holdsPlace | holdsKey,
	rejecting:  holdsPlace | holdsKey,
	kept:       0,
	finished:   0,
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

// may reports whether the message can go to a stage. It cannot if its epoch has ended, or if it was settled before.
func (m *Message) may(to stage) bool {
	return m.Epoch.state != epochGone && followers[m.stage].has(to)
}

// step changes the stage, and takes and returns the difference in places and room.
func (m *Message) step(to stage, places *intake.Intake[*Epoch]) {
	had, has := holdings[m.stage], holdings[to]
	m.stage = to
	switch took, gave := has&^had, had&^has; {
	case took&holdsPlace != 0:
		places.Occupy(&m.Epoch.backlog)
	case gave&holdsPlace != 0:
		places.Vacate(&m.Epoch.backlog)
	}
	switch {
	case has&^had&holdsRoom != 0:
		m.Epoch.wait(m, 1)
	case had&^has&holdsRoom != 0:
		m.Epoch.wait(m, -1)
	}
}

// move moves a message to its next stage, and takes and returns the difference between what the two stages hold. It
// returns false if the message cannot go there.
func (l *Ledger) move(m *Message, to stage) bool {
	if !m.may(to) {
		return false
	}
	e, from := m.Epoch, m.stage
	m.step(to, l.Epochs.places)
	if holdings[to]&holdsKey == 0 && m.stands != parking.Outside {
		l.leaveKey(m)
	}
	switch to {
	case finished:
		l.finish(m, from)
	case publishing:
		l.Results.add(m)
	case delayed, retrying, rejecting:
		l.Results.detach(m)
	}
	gavePlace := holdings[from]&^holdings[to]&holdsPlace != 0
	if (to == finished || gavePlace) && l.Epochs.places.Freed(&e.backlog) {
		l.Wakeup.Wake() // a poll that waits: another record of the epoch may be admitted now
	}
	return true
}

// leaveKey ends the delivery of a message in its key's lot, and removes a kept or finished message from the lot. The
// spot of a message that was copied to a tier already belongs to the copy. If another message is first then, and waits
// only for that, it is due at once: it goes from blocked to delayed, and neither stage holds the key.
func (l *Ledger) leaveKey(m *Message) {
	next, wake := l.lots.leave(m, m.stage == kept || m.stage == finished)
	if next != nil && next.may(delayed) {
		next.step(delayed, l.Epochs.places)
		wake = l.delays.add(next, time.Now()) || wake
	}
	if wake {
		l.Wakeup.Wake()
	}
}

// finish lets the tracker pass a message. The memory of a message that was only delivered is used again, because
// nothing else refers to it.
func (l *Ledger) finish(m *Message, from stage) {
	m.Epoch.tracker.Finish(m.seq)
	m.Epoch.open.remove(m)
	if ln := m.lane; ln != nil {
		m.Epoch.lanes.remove(m)
		if ln.lacks(l.Epochs.laneRoom()) {
			l.Rereads.Soon.set()
		}
	}
	if from != rejecting { // a record with a dead letter is not delivered again after a crash
		m.Epoch.finished++
	}
	if l.finished++; l.finished == l.Rules.Commit {
		l.Enough.set()
	}
	l.Rules.recycle(m.Record)
	m.Record = nil
	if (from == delivered || from == publishing) && m.stands == parking.Outside {
		l.messages.put(m)
	}
}
