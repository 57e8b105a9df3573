package godwittest

import (
	"fmt"
	"slices"
	"time"
)

// Message is what the harness knows about one message on one channel. Redeliveries belong to the same Message.
type Message struct {
	Channel    string // as users write it
	ID         string // assigned by the service
	OrderKey   string
	Tenant     string
	RoutingKey string
	Body       []byte
	Received   int // number of deliveries to this harness's consumers
	Attempts   []Attempt
	Handled    bool // an attempt ended with Done

	untold int // number of deliveries without a verdict
}

// Attempt is one start of a handler.
type Attempt struct {
	Number int // the number that the handler saw
	At     time.Time
	Took   time.Duration
	Err    error // the error that the handler returned, if its consumer was created by the harness
	// Outcome is what happened to the delivery: handled, retry after 5s, dead-lettered, dropped, expired (perhaps
	// without a start), released, stopped; "" while the handler runs. If a consumer that the application has created
	// holds a retry itself, the wait is unknown: retry held by the consumer.
	Outcome string

	order   int  // number of its start, among all attempts
	settled bool // the consumer has sent its verdict
}

// clone returns a copy that later events do not change.
func (m *Message) clone() Message {
	c := *m
	c.Body, c.Attempts = slices.Clone(m.Body), slices.Clone(m.Attempts)
	return c
}

// open returns the latest attempt whose verdict the consumer has not sent.
func (m *Message) open() *Attempt {
	for i := len(m.Attempts) - 1; i >= 0; i-- {
		if a := &m.Attempts[i]; a.Outcome != "" && !a.settled {
			return a
		}
	}
	return nil
}

// attempts returns the number of attempts, as far as the latest attempt knows.
func (m *Message) attempts() int {
	if n := len(m.Attempts); n > 0 {
		return m.Attempts[n-1].Number
	}
	return 0
}

// runs reports whether a handler is running for the message.
func (m *Message) runs() bool {
	return slices.ContainsFunc(m.Attempts, func(a Attempt) bool { return a.Outcome == "" })
}

// handledAs returns the number of its first handled attempt among all attempts.
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
	expired      = "expired"
	released     = "released"
	stopped      = "stopped the consumer"
	retryHeld    = "retry held by the consumer"
)

func retryAfter(d time.Duration) string { return fmt.Sprintf("retry after %v", d) }
