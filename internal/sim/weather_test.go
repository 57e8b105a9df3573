package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// storm is one kind of fault that strikes some calls for some time.
type storm struct {
	kind    string
	actions []string // "": all
	slot    string   // prefix of the callers it strikes; "": all
	from    time.Duration
	to      time.Duration
	share   float64 // of the calls
}

const (
	actSend   = "SendMessageBatch"
	actPub    = "PublishBatch"
	actRecv   = "ReceiveMessage"
	actDelete = "DeleteMessageBatch"
	actChange = "ChangeMessageVisibilityBatch"
)

// newStorms gives most kinds of fault their time, and leaves some out, so that worlds differ.
func newStorms(d dice, slots int) (storms []storm) {
	r := d.about("storms")
	kinds := []storm{
		{kind: struckThrottle}, {kind: struckError}, {kind: struckRefused}, {kind: struckSlow},
		{kind: struckLostSend, actions: []string{actSend, actPub}}, {kind: struckLostReceive, actions: []string{actRecv}},
		{kind: struckLostDelete, actions: []string{actDelete}}, {kind: struckLostChange, actions: []string{actChange}},
		{kind: struckPartialSend, actions: []string{actSend, actPub}}, {kind: struckPartialDelete, actions: []string{actDelete}},
		{kind: struckPartialChange, actions: []string{actChange}}, {kind: struckBlocked, actions: []string{actChange}},
		{kind: struckOutage}, {kind: struckStranded, actions: []string{actRecv}},
	}
	for _, s := range kinds {
		for range r.IntN(4) { // none of some
			one := s
			one.from = r.between(0, troubleFor-time.Minute)
			one.to = one.from + r.between(5*time.Second, 60*time.Second)
			one.share = pick(r, 0.1, 0.5, 0.9)
			switch s.kind {
			case struckBlocked, struckOutage:
				one.slot = "c" + string(rune('0'+r.IntN(slots))) + "."
				one.share = 1
			case struckThrottle, struckError, struckRefused:
				one.share = pick(r, 0.1, 0.5)
			}
			storms = append(storms, one)
		}
	}
	return storms
}

func (s *storm) strikes(now time.Duration, action, caller string) bool {
	if now < s.from || now >= s.to || !strings.HasPrefix(caller, s.slot) {
		return false
	}
	return len(s.actions) == 0 || slices.Contains(s.actions, action)
}

// weather decides over a call. Two calls of one process in one instant and of one action share their fate, so that it
// does not matter which of them comes first.
func (w *world) weather(_ context.Context, c *localaws.Request) localaws.Outcome {
	switch c.Action {
	case actSend, actPub, actRecv, actDelete, actChange:
	default:
		return localaws.Outcome{}
	}
	now := time.Since(w.trace.begun)
	o := localaws.Outcome{Delay: w.plan.about("latency", c.Action, c.Caller, now).between(time.Millisecond, 20*time.Millisecond)}
	for i := range w.plan.storms {
		s := &w.plan.storms[i]
		r := w.plan.about("storm", i, c.Action, c.Caller, now)
		if !s.strikes(now, c.Action, c.Caller) || !r.chance(s.share) {
			continue
		}
		w.strike(s, r, c, &o)
		break
	}
	return o
}

// strike makes an outcome of a storm and tells the struck process's books.
func (w *world) strike(s *storm, r *roll, c *localaws.Request, o *localaws.Outcome) {
	struck := func() {
		w.tally.add(s.kind, 1)
		w.trace.note("%s %s: %s", c.Caller, c.Action, s.kind)
	}
	until := time.Now().Add(o.Delay)
	switch s.kind {
	case struckThrottle:
		o.Err = &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}
	case struckError, struckBlocked:
		o.Err = &wire.Error{Code: "ServiceUnavailable", Message: "try again", Status: 503, Fault: true}
	case struckRefused, struckOutage:
		o.Drop = true
	case struckStranded: // only if its client goes away
		o.Strand = true
		until = until.Add(maxPoll)
	case struckSlow:
		if r.chance(0.5) {
			o.Delay += r.between(100*time.Millisecond, 3*time.Second)
		} else {
			o.DelayAfter = r.between(100*time.Millisecond, 3*time.Second)
		}
		until = until.Add(o.Delay + o.DelayAfter)
	case struckPartialSend, struckPartialDelete, struckPartialChange:
		o.FailEntries = func(id string) *wire.Error {
			if !r.chance(0.4) {
				return nil
			}
			struck()
			return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
		}
		w.troubled(c.Caller, until)
		return
	default: // a lost answer
		if r.chance(0.5) {
			o.DropAfter = true
		} else {
			o.ErrAfter = &wire.Error{Code: "InternalError", Message: "try again", Status: 500, Fault: true}
		}
		until = until.Add(maxPoll) // a poll's answer is lost when it ends
	}
	struck()
	w.troubled(c.Caller, until)
}

// troubled tells all books that a fault strikes a process's calls.
func (w *world) troubled(caller string, until time.Time) {
	for _, b := range w.books {
		b.troubled(caller, until)
	}
}

// maxPoll is the longest poll.
const maxPoll = 20 * time.Second
