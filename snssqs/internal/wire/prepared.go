package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

const (
	// EnvelopeAttribute and RoutingAttribute are our message attributes. SNS's filters check the second, whose name may
	// differ for a mapped resource. A third announces a pointer to a body in a store. Seven of SQS's ten attributes are
	// left to other programs.
	EnvelopeAttribute = "godwit"
	RoutingAttribute  = "routing_key"
	// ExpiresAttribute is the number of milliseconds after which a message expires, where headers are attributes of
	// their own. Elsewhere it is in the envelope.
	ExpiresAttribute = "godwit_expires"

	stringType = "String"
	numberType = "Number"

	// defaultGroup is the message group of messages without an order key on an ordered channel. An order key that is
	// equal to it is hashed.
	defaultGroup = "-"
	maxGroup     = 128
)

// prepared is a message in wire form.
type prepared struct {
	body         string
	envelope     string // "": the message has none
	routingKey   string
	routing      string // the name of the attribute with the routing key
	group, dedup string
	delay        int32              // seconds
	at           time.Time          // when the delay ends, of a message with Message.At
	waits        bool               // beside its channel, in the queue for later messages
	ticks        bool               // beside its channel, in the queue for messages of schedules
	cancelID     string             // cancels the message; "": that is not possible
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
func encode(e *Encoder, m *driver.Message, apart bool) (*prepared, error) {
	ch, as := e.To, e.Form
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
	if m.Tick && !ch.Ordered {
		if !e.Waits {
			return nil, errors.New("nothing is created beside a queue or topic of snssqs.Options.Names, so that nothing removes " +
				"the messages of other processes: send a schedule to an ordered channel, or to one that is not in Names")
		}
		w.ticks, w.dedup = true, m.DedupID
	}
	if ch.Ordered {
		w.group = cmp.Or(w.group, defaultGroup)
		if !apart {
			id := newDedup(m)
			w.dedup = id.with(m.Body)
		}
	}
	if err := e.setDelay(w, m, &env); err != nil {
		return nil, err
	}
	if as.Native && env.Expires > 0 {
		w.native = append(w.native, driver.RawHeader{
			Name: ExpiresAttribute, Type: numberType, Value: strconv.AppendInt(nil, env.Expires, 10),
		})
		env.Expires = 0
	} else if as.Native {
		env.First = 0 // it would need an attribute for the envelope, also in messages that never expire
	}
	// SNS's condition for "no routing key" does not match a message without any attribute.
	unseen := ch.Queue == "" && len(w.native) == 0 && w.routingKey == ""
	needed := !as.Native || !env.Empty() || trust.LooksWrapped(w.body) || unseen
	if w.waits {
		env.Later = e.later(w, m, !needed)
	}
	if needed || w.waits {
		w.envelope = env.String()
	}
	return w, nil
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

// QueueEntries makes the entries of requests to a queue. The zero value is ready; safe for concurrent use.
type QueueEntries struct {
	attributes attributeCache[types.MessageAttributeValue]
}

// Of is the entries of prepared messages.
func (c *QueueEntries) Of(batch []driver.Prepared) []types.SendMessageBatchRequestEntry {
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i := range batch {
		w := batch[i].Wire.(*prepared)
		entries[i] = types.SendMessageBatchRequestEntry{
			Id: client.EntryID(i), MessageBody: &w.body, DelaySeconds: w.left(),
			MessageGroupId: unlessEmpty(&w.group), MessageDeduplicationId: unlessEmpty(w.queueDedup()),
			MessageAttributes: c.attributes.of(w, queueAttribute, queueAttributes),
		}
		if w.sent != nil && w.sent.trace != "" {
			entries[i].MessageSystemAttributes = traced(w.sent.trace)
		}
	}
	return entries
}

// TopicEntries is QueueEntries of a topic.
type TopicEntries struct {
	attributes attributeCache[snstypes.MessageAttributeValue]
}

// Of is the entries of prepared messages.
func (c *TopicEntries) Of(batch []driver.Prepared) []snstypes.PublishBatchRequestEntry {
	entries := make([]snstypes.PublishBatchRequestEntry, len(batch))
	for i := range batch {
		w := batch[i].Wire.(*prepared)
		entries[i] = snstypes.PublishBatchRequestEntry{
			Id: client.EntryID(i), Message: &w.body,
			MessageGroupId: unlessEmpty(&w.group), MessageDeduplicationId: unlessEmpty(&w.dedup),
			MessageAttributes: c.attributes.of(w, topicAttribute, topicAttributes),
		}
	}
	return entries
}

// unlessEmpty is a text as a field of a request that may be missing.
func unlessEmpty(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

// queueAttributes is the attributes for SQS.
func queueAttributes(hs []driver.RawHeader) map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(hs))
	for _, h := range hs {
		kind, text := h.Type, string(h.Value)
		a := types.MessageAttributeValue{DataType: &kind}
		if Binary(kind) {
			a.BinaryValue = h.Value
		} else {
			a.StringValue = &text
		}
		out[h.Name] = a
	}
	return out
}

// topicAttributes is the attributes for SNS.
func topicAttributes(hs []driver.RawHeader) map[string]snstypes.MessageAttributeValue {
	out := make(map[string]snstypes.MessageAttributeValue, len(hs))
	for name, a := range queueAttributes(hs) {
		out[name] = snstypes.MessageAttributeValue{
			DataType: a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue,
		}
	}
	return out
}

// traced is the system attributes with a trace header.
func traced(trace string) map[string]types.MessageSystemAttributeValue {
	kind := stringType
	return map[string]types.MessageSystemAttributeValue{TraceHeader: {DataType: &kind, StringValue: &trace}}
}

func queueAttribute(kind, value *string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: kind, StringValue: value}
}

func topicAttribute(kind, value *string) snstypes.MessageAttributeValue {
	return snstypes.MessageAttributeValue{DataType: kind, StringValue: value}
}

// attributeCache remembers the attributes of the message sent last. Most messages of a sender have the same envelope
// and routing key, and a map of attributes costs a kilobyte. The zero value is ready; safe for concurrent use.
type attributeCache[V any] struct {
	last atomic.Pointer[attributeSet[V]]
}

// attributeSet is the attributes of all messages that have one envelope and one routing key. The values point into
// the set, never into a message, whose body would stay in memory with it.
type attributeSet[V any] struct {
	kind, envelope, routingKey string
	values                     map[string]V // shared by requests: never changed
}

// of is the attributes of a message: ours, each made by text of a type and a value, and its headers, made by native.
func (c *attributeCache[V]) of(w *prepared, text func(kind, value *string) V,
	native func([]driver.RawHeader) map[string]V,
) map[string]V {
	if w.sent != nil {
		return native(w.sent.header)
	}
	if w.sizeName != "" || w.native != nil {
		s := newAttributeSet(w, text) // other messages have other sizes and headers
		maps.Copy(s.values, native(w.native))
		return s.values
	}
	if s := c.last.Load(); s != nil && s.envelope == w.envelope && s.routingKey == w.routingKey {
		return s.values
	}
	s := newAttributeSet(w, text)
	c.last.Store(s)
	return s.values
}

func newAttributeSet[V any](w *prepared, text func(kind, value *string) V) *attributeSet[V] {
	s := &attributeSet[V]{
		kind: stringType, envelope: w.envelope, routingKey: w.routingKey, values: make(map[string]V, 2),
	}
	if s.envelope != "" {
		s.values[EnvelopeAttribute] = text(&s.kind, &s.envelope)
	}
	if s.routingKey != "" {
		s.values[w.routing] = text(&s.kind, &s.routingKey)
	}
	if w.sizeName != "" {
		kind, size := numberType, w.size
		s.values[w.sizeName] = text(&kind, &size)
	}
	return s
}
