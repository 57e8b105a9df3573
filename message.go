package godwit

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Message is what you send. The zero value is an empty message; a Message is a value and may be used again.
type Message struct {
	Body []byte

	// OrderKey says which messages of an ordered channel are handled one after another. "": all those without one
	// are in one order. On channels that keep no order it names the tenant the message belongs to.
	OrderKey string
	// RoutingKey is what the filters of an exchange's consumers look at.
	RoutingKey string
	// DedupID is for ordered channels; elsewhere it is an error. A second message with the same one within 5 minutes is
	// accepted and not delivered. "": derived from order key, routing key, type, version and body; headers make no
	// difference.
	DedupID string

	ContentType string
	// Type and Version say what the body is, for a [Router]. Version 0: not versioned.
	Type    string
	Version int

	Headers Headers
	// Delay is how long the message waits before it can be received, where the channel can keep that.
	Delay time.Duration

	// Receipt is filled in when the service has accepted the message, by Send, by SendBatch, or by Wait of
	// SendAsync's Result. A middleware finds it filled in after the next SendFunc of a Send, and empty then of the
	// others, which return to it before the message is sent. Each message needs one of its own. nil: nobody asks.
	Receipt *Receipt

	forwarded string // of Delivery.Forward: the DedupID, where messages are de-duplicated
}

// Receipt is what the service says of a message that it accepted. One of a message that was not accepted stays as it
// was.
type Receipt struct {
	// MessageID is the service's: that of the Delivery. On an exchange of SNS it is the publication's, and each queue's
	// deliveries have ids of their own.
	MessageID string
	// Duplicate: an equal message (see Message.DedupID) was accepted by this producer in the last 5 minutes, and this
	// one is not delivered. Only ordered channels of SQS and SNS tell, of the last 65,536 messages; a duplicate of
	// another producer's message, in this process or elsewhere, cannot be told and says false.
	Duplicate bool
}

// Headers are names and values that travel with a message.
type Headers []driver.Header

// Value is the value of a header; "" if there is none.
func (h Headers) Value(name string) string {
	for i := range h {
		if h[i].Name == name {
			return h[i].Value
		}
	}
	return ""
}

// With returns the headers with one set, replacing a value it had. The receiver's own array is not written to.
func (h Headers) With(name, value string) Headers {
	out := make(Headers, 0, len(h)+1)
	for _, x := range h {
		if x.Name != name {
			out = append(out, x)
		}
	}
	return append(out, driver.Header{Name: name, Value: value})
}

func (m *Message) driver(ordered bool) driver.Message {
	dedup := m.DedupID
	if dedup == "" && ordered {
		dedup = m.forwarded
	}
	return driver.Message{
		OrderKey: m.OrderKey, RoutingKey: m.RoutingKey, DedupID: dedup,
		ContentType: m.ContentType, Type: m.Type, Version: m.Version,
		Header: m.Headers, Body: m.Body, Delay: m.Delay,
	}
}
