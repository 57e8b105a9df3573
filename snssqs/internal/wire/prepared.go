package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

const (
	// EnvelopeAttribute and routingAttribute are our message attributes. SNS's filters check the second, whose name may
	// differ for a mapped resource. A third announces a pointer to a body in a store. Seven of SQS's ten attributes are
	// left to other programs.
	EnvelopeAttribute = "godwit"
	RoutingAttribute  = "routing_key"

	stringType = "String"
	numberType = "Number"

	// defaultGroup is the message group of messages without an order key on an ordered channel. An order key that is
	// equal to it is hashed.
	defaultGroup = "-"
	maxGroup     = 128
	maxDelay     = 900 * time.Second
)

// prepared is a message in wire form.
type prepared struct {
	body         string
	envelope     string // "": the message has none
	routingKey   string
	routing      string // the name of the attribute with the routing key
	group, dedup string
	delay        int32              // seconds
	sizeName     string             // the name of the attribute that announces a pointer; "": the body is the body
	size         string             // its value, the bytes of the body in the store
	native       []driver.RawHeader // headers that are attributes of their own
	sent         *sentOn            // instead of the attributes above, of a forwarded message; nil: it is a new one
}

// bytes returns the size that the service counts: the body, and names, types and values of the attributes.
func (w *prepared) bytes() int {
	if w.sent != nil {
		return len(w.body) + w.sent.bytes()
	}
	n := len(w.body) + (&sentOn{header: w.native}).bytes()
	if w.envelope != "" {
		n += len(EnvelopeAttribute) + len(stringType) + len(w.envelope)
	}
	if w.routingKey != "" {
		n += len(w.routing) + len(stringType) + len(w.routingKey)
	}
	if w.sizeName != "" {
		n += len(w.sizeName) + len(numberType) + len(w.size)
	}
	return n
}

// encode returns a message in wire form, or an error that says what is wrong with it. If the body is apart, the wire
// form has none yet, and no id for duplicates.
func encode(ch driver.Channel, m *driver.Message, apart bool, as Form) (*prepared, error) {
	if err := checkText(m); err != nil {
		return nil, err
	}
	w := &prepared{routingKey: m.RoutingKey, routing: as.Routing}
	env, err := w.setHeaders(m, as, ch.Queue == "")
	if err != nil {
		return nil, err
	}
	if !apart {
		w.body, env.Encoding = envelope.Encode(m.Body)
	}
	w.group = m.OrderKey
	if w.group != "" && (!legalToken(w.group) || w.group == defaultGroup) {
		w.group, env.OrderKey = hashed(w.group), m.OrderKey
	}
	if ch.Ordered {
		if w.group == "" {
			w.group = defaultGroup
		}
		if !apart {
			id := newDedup(m)
			w.dedup = id.with(m.Body)
		}
	}
	if err := w.setDelay(ch, m.Delay); err != nil {
		return nil, err
	}
	env.Delay = w.delay
	// SNS's condition for "no routing key" does not match a message without any attribute.
	unseen := ch.Queue == "" && len(w.native) == 0 && w.routingKey == ""
	if !as.Native || !env.Empty() || trust.LooksWrapped(w.body) || unseen {
		w.envelope = env.String()
	}
	return w, nil
}

func (w *prepared) setDelay(ch driver.Channel, d time.Duration) error {
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

// dedup makes the de-duplication id for a FIFO queue: the caller's, or a hash of the message. The hash leaves out the
// headers, because those of traces differ with every send.
type dedup struct {
	given string // the caller's; "": the hash is the id
	sum   hash.Hash
}

// newDedup begins the id of a message. The body follows.
func newDedup(m *driver.Message) dedup {
	d := dedup{given: m.DedupID}
	if d.given != "" {
		return d
	}
	d.sum = sha256.New()
	for _, field := range []string{m.OrderKey, m.RoutingKey, m.Type, strconv.Itoa(m.Version)} {
		// The length makes different lists of fields different texts. A hash cannot fail.
		_, _ = fmt.Fprintf(d.sum, "%d:%s", len(field), field)
	}
	return d
}

// with adds the body and returns the id.
func (d *dedup) with(body []byte) string {
	if d.sum != nil {
		_, _ = d.sum.Write(body)
	}
	return d.id()
}

// Write adds a part of the body.
func (d *dedup) Write(body []byte) (int, error) {
	if d.sum != nil {
		_, _ = d.sum.Write(body)
	}
	return len(body), nil
}

// id is the id of what was added.
func (d *dedup) id() string {
	switch {
	case d.sum != nil:
		return hex.EncodeToString(d.sum.Sum(nil))
	case legalToken(d.given):
		return d.given
	}
	return hashed(d.given)
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
