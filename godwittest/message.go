package godwittest

import (
	"fmt"
	"slices"
	"time"
)

// Message is what the harness has seen of one message on one channel. A message that is delivered again is the same.
type Message struct {
	Channel    string // as users spell it
	ID         string // the service's
	OrderKey   string
	Tenant     string
	RoutingKey string
	Body       []byte
	Received   int // deliveries, of this harness's consumers
	Attempts   []Attempt
	Handled    bool // an attempt of it ended with Done

	untold int // deliveries of it that have no verdict yet
}

// Attempt is one start of a handler.
type Attempt struct {
	Number int // as the handler saw it
	At     time.Time
	Took   time.Duration
	Err    error // what the handler returned, if its consumer was made by the harness
	// Outcome is what became of the delivery: handled, retry after 5s, dead-lettered, dropped, given back, stopped; ""
	// while the handler runs. Of a consumer that the application has made, a retry that it holds itself has no known
	// wait: retry held by the consumer.
	Outcome string

	order   int  // of its start, among all attempts
	settled bool // its verdict has left the consumer
}

// clone is a copy that later events do not change.
func (m *Message) clone() Message {
	c := *m
	c.Body, c.Attempts = slices.Clone(m.Body), slices.Clone(m.Attempts)
	return c
}

// open is the latest attempt whose verdict has not left the consumer.
func (m *Message) open() *Attempt {
	for i := len(m.Attempts) - 1; i >= 0; i-- {
		if a := &m.Attempts[i]; a.Outcome != "" && !a.settled {
			return a
		}
	}
	return nil
}

// attempts is how often it was tried, as far as the latest attempt knows.
func (m *Message) attempts() int {
	if n := len(m.Attempts); n > 0 {
		return m.Attempts[n-1].Number
	}
	return 0
}

// runs says whether a handler has the message.
func (m *Message) runs() bool {
	return slices.ContainsFunc(m.Attempts, func(a Attempt) bool { return a.Outcome == "" })
}

// handledAs is the place of its first handled attempt among all attempts.
func (m *Message) handledAs() int {
	for i := range m.Attempts {
		if m.Attempts[i].Outcome == handled {
			return m.Attempts[i].order
		}
	}
	return 0
}

// The outcomes of attempts.
const (
	handled      = "handled"
	deadLettered = "dead-lettered"
	dropped      = "dropped"
	givenBack    = "given back"
	stopped      = "stopped the consumer"
	retryHeld    = "retry held by the consumer"
)

func retryAfter(d time.Duration) string { return fmt.Sprintf("retry after %v", d) }
