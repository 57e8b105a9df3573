package records

import (
	"testing"
	"time"
)

// A message is returned when it is due, the earliest first. Messages of an epoch that has ended are not returned, and
// not waited for.
func TestTimeline(t *testing.T) {
	now := time.Unix(1_000, 0)
	open, leaving, gone := &Epoch{}, &Epoch{state: epochLeaving}, &Epoch{state: epochGone}
	var line timeline
	if !line.next().IsZero() || line.take(now) != nil {
		t.Error("an empty timeline has a next time")
	}
	late, soon := &Message{Epoch: open, seq: 2}, &Message{Epoch: open, seq: 1}
	line.add(&Message{Epoch: gone}, now.Add(-time.Hour))
	line.add(late, now.Add(time.Minute))
	line.add(&Message{Epoch: leaving}, now)
	line.add(soon, now.Add(time.Second))
	if m := line.take(now); m != nil {
		t.Errorf("message %d is returned before it is due", m.seq)
	}
	if at := line.next(); !at.Equal(now.Add(time.Second)) {
		t.Errorf("the next message is due at %v", at)
	}
	if m := line.take(now.Add(time.Hour)); m != soon {
		t.Errorf("the first message is %+v", m)
	}
	if m := line.take(now.Add(time.Hour)); m != late {
		t.Errorf("the next message is %+v", m)
	}
}
