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
	// DedupID makes a second message with the same one within 5 minutes be accepted and not delivered, on ordered
	// channels. "": derived from the body.
	DedupID string

	ContentType string
	// Type and Version say what the body is, for a [Router]. Version 0: not versioned.
	Type    string
	Version int

	Headers Headers
	// Delay is how long the message waits before it can be received, where the channel can keep that.
	Delay time.Duration
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

func (m *Message) driver() driver.Message {
	return driver.Message{
		OrderKey: m.OrderKey, RoutingKey: m.RoutingKey, DedupID: m.DedupID,
		ContentType: m.ContentType, Type: m.Type, Version: m.Version,
		Header: m.Headers, Body: m.Body, Size: int64(len(m.Body)), Delay: m.Delay,
	}
}
