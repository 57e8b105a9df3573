package snssqs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

const (
	// envelopeAttribute and routingAttribute are our message attributes. SNS's filters check the second, whose name may
	// differ for a mapped resource. A third is that of the extended client. Seven of SQS's ten attributes are left to
	// other programs.
	envelopeAttribute = "godwit"
	routingAttribute  = "routing_key"

	// The attribute of the extended client, in its current spelling and in the one that the Java version still writes.
	payloadSizeAttribute    = "ExtendedPayloadSize"
	oldPayloadSizeAttribute = "SQSLargePayloadSize"

	stringType = "String"

	// defaultGroup is the message group of messages without an order key on an ordered channel. An order key that is
	// equal to it is hashed.
	defaultGroup = "-"
	maxGroup     = 128
	maxDelay     = 900 * time.Second
)

// wire is a message in wire form.
type wire struct {
	body         string
	envelope     string
	routingKey   string
	routing      string // the name of the attribute with the routing key
	group, dedup string
	delay        int32 // seconds
}

// size returns the size that the service counts: the body, and names, types and values of the attributes.
func (w *wire) size() int {
	n := len(w.body) + len(envelopeAttribute) + len(stringType) + len(w.envelope)
	if w.routingKey != "" {
		n += len(w.routing) + len(stringType) + len(w.routingKey)
	}
	return n
}

// encode returns a message in wire form, or an error that says what is wrong with it.
func encode(ch driver.Channel, m *driver.Message) (*wire, error) {
	if err := checkText(m); err != nil {
		return nil, err
	}
	w := &wire{routingKey: m.RoutingKey, routing: routingAttribute}
	env := envelope.New(m)
	w.body, env.Encoding = envelope.Encode(m.Body)
	w.group = m.OrderKey
	if w.group != "" && (!legalToken(w.group) || w.group == defaultGroup) {
		w.group, env.OrderKey = hashed(w.group), m.OrderKey
	}
	if ch.Ordered {
		if w.group == "" {
			w.group = defaultGroup
		}
		w.dedup = dedupID(m)
	}
	if err := w.setDelay(ch, m.Delay); err != nil {
		return nil, err
	}
	env.Delay = w.delay
	w.envelope = env.String()
	return w, nil
}

func (w *wire) setDelay(ch driver.Channel, d time.Duration) error {
	switch {
	case d == 0:
		return nil
	case d < 0 || d > maxDelay:
		return fmt.Errorf("message delay %v: it must be between 0 and %v", d, maxDelay)
	case ch.Ordered:
		return fmt.Errorf("message delay %v: an ordered channel does not support delays of single messages; "+
			"ConsumerOptions.Delay delays all of them", d)
	case ch.Queue == "":
		return fmt.Errorf("message delay %v: an exchange does not support delays; set ConsumerOptions.Delay of a "+
			"consumer", d)
	}
	w.delay = int32((d + time.Second - 1) / time.Second)
	return nil
}

// checkText refuses characters that the service does not accept. Bodies are encoded instead.
func checkText(m *driver.Message) error {
	bad := func(what, value string) error {
		return fmt.Errorf("%s %q has characters that SQS does not accept: it must be UTF-8 without control characters",
			what,
			value)
	}
	for _, f := range []struct{ what, value string }{
		{"routing key", m.RoutingKey}, {"order key", m.OrderKey}, {"content type", m.ContentType}, {"type", m.Type},
	} {
		if !envelope.Text(f.value) {
			return bad(f.what, f.value)
		}
	}
	for i, h := range m.Header {
		switch {
		case h.Name == "":
			return fmt.Errorf("header %d has no name", i)
		case !envelope.Text(h.Name):
			return bad("header name", h.Name)
		case !envelope.Text(h.Value):
			return bad("the value of header "+h.Name, h.Value)
		}
		for _, before := range m.Header[:i] {
			if before.Name == h.Name {
				return fmt.Errorf("header %s occurs twice: names must be unique", h.Name)
			}
		}
	}
	return nil
}

// dedupID returns the de-duplication id for a FIFO queue: the caller's, or a hash of the message. The hash leaves out
// the headers, because those of traces differ with every send.
func dedupID(m *driver.Message) string {
	switch {
	case m.DedupID == "":
		h := sha256.New()
		for _, field := range []string{m.OrderKey, m.RoutingKey, m.Type, strconv.Itoa(m.Version)} {
			// The length makes different lists of fields different texts. A hash cannot fail.
			_, _ = fmt.Fprintf(h, "%d:%s", len(field), field)
		}
		_, _ = h.Write(m.Body)
		return hex.EncodeToString(h.Sum(nil))
	case legalToken(m.DedupID):
		return m.DedupID
	}
	return hashed(m.DedupID)
}

// hashed returns a replacement for a key that is no valid value of a service's field.
func hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// legalToken reports whether SQS accepts a message group or de-duplication id: 1 to 128 letters, digits and
// punctuation.
func legalToken(s string) bool {
	if s == "" || len(s) > maxGroup {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
