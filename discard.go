package godwit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Discarded are messages that were finished without a handler having seen them.
type Discarded struct {
	Reason DiscardReason
	Count  int
	IDs    []string // the service's; nil where they are not known
	// Expected: the service works so, and there is nothing to mend. Kafka selects nothing by itself, for example, so
	// that its consumers pass over what their filter does not want.
	Expected bool
}

// DiscardReason says why messages were finished unseen.
type DiscardReason uint8

const (
	DiscardFiltered DiscardReason = iota // the consumer's filter does not want them
	DiscardFinished                      // they had been handled, and came again
)

// String is the reason's name.
func (r DiscardReason) String() string {
	switch r {
	case DiscardFiltered:
		return "filtered"
	case DiscardFinished:
		return "finished"
	}
	return "unknown reason"
}

// discardEvery is how often the log speaks of what is discarded for one reason.
const discardEvery = time.Minute

// discardLog is what the log has yet to say, by reason.
type discardLog struct {
	mu sync.Mutex
	by [2]discardSum
}

type discardSum struct {
	next  time.Time // when the log may speak again
	count int
	level slog.Level
	id    string // of one of them; "": none is known
}

// discardedOf is what the backend finished unseen, in the words of users.
func discardedOf(in driver.Discarded) Discarded {
	d := Discarded{Count: in.Count, IDs: in.IDs, Expected: in.Expected}
	switch in.Reason {
	case driver.DiscardFiltered:
		d.Reason = DiscardFiltered
	case driver.DiscardFinished:
		d.Reason = DiscardFinished
	}
	return d
}

// logDiscarded logs what was discarded: the first at once, then the sum once a minute.
func (c *Consumer) logDiscarded(now time.Time) {
	say := func(why DiscardReason, text string) {
		if sum := c.discards.take(why, now); sum.count > 0 {
			c.log.Log(context.Background(), sum.level, text, "count", sum.count, "one", sum.id)
		}
	}
	say(DiscardFiltered, "messages were finished unseen: the consumer's filter does not want them")
	say(DiscardFinished, "messages were finished unseen: they had been handled, and came again")
}

func (l *discardLog) add(d Discarded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := &l.by[d.Reason]
	sum.count += d.Count
	sum.level = slog.LevelWarn
	if d.Expected {
		sum.level = slog.LevelDebug
	}
	if len(d.IDs) > 0 {
		sum.id = d.IDs[0]
	}
}

// take is what the log has to say of a reason by now; a count of 0: nothing.
func (l *discardLog) take(why DiscardReason, now time.Time) discardSum {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.by[why]
	if sum.count == 0 || now.Before(sum.next) {
		return discardSum{}
	}
	l.by[why] = discardSum{next: now.Add(discardEvery)}
	return sum
}
