package godwit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Discarded are messages that were finished without a handler.
type Discarded struct {
	Reason DiscardReason
	Count  int
	IDs    []string // the service's ids; nil if they are unknown
	// Expected means that this is how the service works, and nothing is wrong. On Kafka, for example, only the consumer
	// can apply its filter.
	Expected bool
}

// DiscardReason says why messages were discarded.
type DiscardReason uint8

const (
	DiscardFiltered DiscardReason = iota // the consumer's filter does not select them
	DiscardFinished                      // they had been handled before
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

// discardEvery is how often the log reports discarded messages of one reason.
const discardEvery = time.Minute

// discardLog counts discarded messages that the log has not reported, by reason.
type discardLog struct {
	mu sync.Mutex
	by [2]discardSum
}

type discardSum struct {
	next  time.Time // when the log may report again
	count int
	level slog.Level
	id    string // the id of one of them; "": unknown
}

// discardedOf converts a report of the backend.
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

// logDiscarded logs discarded messages: at once for the first one, then once a minute with the sum.
func (c *Consumer) logDiscarded(now time.Time) {
	log := func(why DiscardReason, text string) {
		if sum := c.discards.take(why, now); sum.count > 0 {
			c.log.Log(context.Background(), sum.level, text, "count", sum.count, "one", sum.id)
		}
	}
	log(DiscardFiltered, "messages were discarded: the consumer's filter does not select them")
	log(DiscardFinished, "messages were discarded: they had been handled before")
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

// take returns the sum that the log reports now; its count is 0 if there is nothing to report.
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
