package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
)

// fault is one kind of fault that affects some calls for some time.
type fault struct {
	kind    string
	actions []string // nil: all
	slot    string   // prefix of the callers that it affects; "": all
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

// newFaults draws faults of most kinds. It leaves some kinds out, so that worlds differ.
func newFaults(d rng, slots int) (faults []fault) {
	r := d.about("storms")
	kinds := []fault{
		{kind: seenThrottle},
		{kind: seenError},
		{kind: seenRefused},
		{kind: seenSlow},
		{kind: seenLostSend, actions: []string{actSend, actPub}},
		{kind: seenLostReceive, actions: []string{actRecv}},
		{kind: seenLostDelete, actions: []string{actDelete}},
		{kind: seenLostChange, actions: []string{actChange}},
		{kind: seenPartialSend, actions: []string{actSend, actPub}},
		{kind: seenPartialDelete, actions: []string{actDelete}},
		{kind: seenPartialChange, actions: []string{actChange}},
		{kind: seenBlocked, actions: []string{actChange}},
		{kind: seenOutage},
		{kind: seenStranded, actions: []string{actRecv}},
	}
	for _, s := range kinds {
		for range r.IntN(4) { // some kinds are left out
			one := s
			one.from = r.between(0, troubleFor-time.Minute)
			one.to = one.from + r.between(5*time.Second, 60*time.Second)
			one.share = pick(r, 0.1, 0.5, 0.9)
			switch s.kind {
			case seenBlocked, seenOutage:
				one.slot = "c" + string(rune('0'+r.IntN(slots))) + "."
				one.share = 1
			case seenThrottle, seenError, seenRefused:
				one.share = pick(r, 0.1, 0.5)
			}
			faults = append(faults, one)
		}
	}
	return faults
}

func (s *fault) applies(now time.Duration, action, caller string) bool {
	if now < s.from || now >= s.to || !strings.HasPrefix(caller, s.slot) {
		return false
	}
	return len(s.actions) == 0 || slices.Contains(s.actions, action)
}

// injectFaults decides about a call. Calls of one process and action at the same time get the same fault, so that their
// order does not matter.
func (w *world) injectFaults(_ context.Context, c *localaws.Request) localaws.Outcome {
	switch c.Action {
	case actSend, actPub, actRecv, actDelete, actChange, actPut, actGet, actDiscard:
	default:
		return localaws.Outcome{}
	}
	now := time.Since(w.trace.begun)
	o := localaws.Outcome{Delay: w.plan.about("latency", c.Action, c.Caller, now).between(time.Millisecond,
		20*time.Millisecond)}
	for i := range w.plan.faults {
		s := &w.plan.faults[i]
		r := w.plan.about("storm", i, c.Action, c.Caller, now)
		if !s.applies(now, c.Action, c.Caller) || !r.chance(s.share) {
			continue
		}
		w.inject(s, r, c, &o)
		break
	}
	return o
}

// inject sets the outcome for a fault, and tells the checkers about it.
func (w *world) inject(s *fault, r *stream, c *localaws.Request, o *localaws.Outcome) {
	count := func() {
		w.tally.add(s.kind, 1)
		w.trace.note("%s %s: %s", c.Caller, c.Action, s.kind)
	}
	until := time.Now().Add(o.Delay)
	switch s.kind {
	case seenThrottle:
		o.Err = &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}
		if c.Action == actPut || c.Action == actGet || c.Action == actDiscard {
			o.Err = &wire.Error{Code: "SlowDown", Message: "Reduce your request rate", Status: 503, Fault: true}
		}
	case seenError, seenBlocked, seenStoreDown:
		o.Err = &wire.Error{Code: "ServiceUnavailable", Message: "try again", Status: 503, Fault: true}
	case seenRefused, seenOutage:
		o.Drop = true
	case seenStranded: // has an effect only if the client disconnects
		o.Strand = true
		until = until.Add(maxPoll)
	case seenSlow:
		if r.chance(0.5) {
			o.Delay += r.between(100*time.Millisecond, 3*time.Second)
		} else {
			o.DelayAfter = r.between(100*time.Millisecond, 3*time.Second)
		}
		until = until.Add(o.Delay + o.DelayAfter)
	case seenPartialSend, seenPartialDelete, seenPartialChange:
		o.FailEntries = func(id string) *wire.Error {
			if !r.chance(0.4) {
				return nil
			}
			count()
			w.entryRefused(c, id)
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
		until = until.Add(maxPoll) // the answer to a poll is lost when the poll ends
	}
	count()
	w.troubled(c.Caller, until)
}

// entryRefused tells all checkers which message of a request is refused.
func (w *world) entryRefused(c *localaws.Request, id string) {
	body := ""
	switch in := c.Input.(type) {
	case *sqs.SendMessageBatchInput:
		for i := range in.Entries {
			if in.Entries[i].ID == id {
				body = in.Entries[i].MessageBody
			}
		}
	case *sns.PublishBatchInput:
		for i := range in.PublishBatchRequestEntries {
			if one := &in.PublishBatchRequestEntries[i]; one.ID == id && one.Message != nil {
				body = *one.Message
			}
		}
	default:
		return
	}
	for _, b := range w.checkers {
		b.entryRefused(w.labelOf(body))
	}
}

// troubled tells all checkers that a fault affects a process's calls.
func (w *world) troubled(caller string, until time.Time) {
	for _, b := range w.checkers {
		b.troubled(caller, until)
	}
}

// maxPoll is the longest poll.
const maxPoll = 20 * time.Second
