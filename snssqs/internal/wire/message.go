package wire

import (
	"crypto/md5"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Message is the value that a driver.Handle refers to.
type Message struct {
	types.Message // Body is nil if text can rebuild it from the delivery's
	body          []byte
	encoding      envelope.Encoding
	Pointer       *pointer           // to the body; nil: the message has the body
	Asked         time.Time          // when the receive was sent
	Key           string             // order key or tenant, as its sender wrote it
	Came          *trust.Publication // by SNS, in its JSON; nil: it did not, or with raw delivery
	Untrusted     string             // the topic that the body names, and that the channel does not trust
	Copied        atomic.Bool        // its copy is in the dead letters
	Cancellable   bool               // it waits for its time, and can be cancelled
}

// share drops the received body if it can be rebuilt from the delivery's, so that large messages are in memory once.
func (m *Message) share(body []byte, text string, e envelope.Encoding) {
	if text == aws.ToString(m.Body) && e != envelope.Empty { // not for a body that was unwrapped from SNS's JSON
		m.Body, m.body, m.encoding = nil, body, e
	}
}

// Text returns the body as received.
func (m *Message) Text() *string {
	if m.Body == nil {
		text := m.encoding.Text(m.body)
		return &text
	}
	return m.Body
}

// Raw is the message as received.
func (m *Message) Raw() driver.Raw {
	raw := driver.Raw{Format: rawFormat, Trace: m.Attributes[TraceHeader]}
	switch {
	case m.Body != nil:
		raw.Body = []byte(*m.Body)
	case m.encoding == envelope.Plain:
		raw.Body = m.body
	default:
		raw.Body = []byte(m.encoding.Text(m.body))
	}
	if group, ok := m.Attributes["MessageGroupId"]; ok {
		raw.Key = []byte(group)
	}
	for _, name := range slices.Sorted(maps.Keys(m.MessageAttributes)) {
		raw.Header = append(raw.Header, rawAttribute(name, m.MessageAttributes[name]))
	}
	return raw
}

func rawAttribute(name string, a types.MessageAttributeValue) driver.RawHeader {
	h := driver.RawHeader{Name: name, Type: aws.ToString(a.DataType), Value: a.BinaryValue}
	if !Binary(h.Type) {
		h.Value = []byte(aws.ToString(a.StringValue))
	}
	return h
}

// Binary reports whether values of a type of attributes are bytes, and not text.
func Binary(kind string) bool {
	base, _, _ := strings.Cut(kind, ".")
	return base == "Binary"
}

// rawFormat is the driver.Raw.Format of messages of SQS.
const rawFormat = "sqs"

// Settleable reports whether a message has a receipt handle, which settling needs. A message without one fails here,
// alone; in a request it would fail all other entries.
func (m *Message) Settleable(i int, op string, a *client.Batch) bool {
	if aws.ToString(m.ReceiptHandle) != "" {
		return true
	}
	a.Fail(i, client.Permanent("%s message %s: the service gave no receipt handle for it, so it is delivered again "+
		"when its lease ends", op, aws.ToString(m.MessageId)))
	return false
}

// onStack is the size of bodies that CheckMD5 copies to the stack; a larger one is copied to the heap.
const onStack = 1 << 10

// CheckMD5 returns an error for a message that the service received with another body than the one that was sent. If it
// returned no MD5, there is none. Godwit checks the MD5 itself, because the SDK's check fails the whole batch, and
// panics
// if an answer has no id.
func CheckMD5(id string, body, told *string) error {
	if body == nil || told == nil {
		return nil
	}
	sum := md5.Sum(append(make([]byte, 0, onStack), *body...))
	var digits [2 * md5.Size]byte
	hex.Encode(digits[:], sum[:])
	if string(digits[:]) == *told {
		return nil
	}
	return client.Transient(
		"message %s: the MD5 of the body that the service received differs from that of the body sent; it is sent again", id,
	)
}

const (
	// maxAttributes is the most message attributes that SQS accepts.
	maxAttributes = 10
	// shortError is the length to which an error's text is cut if the copy of a large message has no room for more.
	shortError = 100
	// TraceHeader is the only system attribute that a sender may set.
	TraceHeader = "AWSTraceHeader"
)

// DeadLetter returns the copy of a message for the dead letters: body and attributes as received, plus the reasons.
// If the message is so large that the reasons do not fit, they are shortened or left out, because the copy matters
// more.
func (c *Decoder) DeadLetter(m *Message, death *driver.Death, room int) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{MessageBody: m.Text()}
	if group, ok := m.Attributes["MessageGroupId"]; ok {
		e.MessageGroupId = &group
	}
	if c.From.Ordered {
		// Derived from the service's own id. The original de-duplication id would make the copy a duplicate.
		id := "dlq-" + aws.ToString(m.MessageId)
		e.MessageDeduplicationId = &id
	}
	if trace, ok := m.Attributes[TraceHeader]; ok {
		e.MessageSystemAttributes = traced(trace)
	}
	d := deathOf(m, death)
	for _, text := range []string{d.Error, strings.ToValidUTF8(d.Error[:min(len(d.Error), shortError)], ""), ""} {
		d.Error = text
		if e.MessageAttributes = deadLetterAttributes(m, *e.MessageBody, d, c.Routing); entrySize(&e) <= room {
			return e
		}
	}
	e.MessageAttributes = m.MessageAttributes
	return e
}

func deathOf(m *Message, death *driver.Death) envelope.Death {
	d := envelope.Death{ID: aws.ToString(m.MessageId), OrderKey: m.Key}
	if death != nil {
		d.Error, d.Kind, d.Consumer, d.Channel = death.Error, death.Kind, death.Consumer, death.Channel
		d.Attempts, d.First, d.Last = death.Attempts, death.First, death.Last
	}
	return d
}

// deadLetterAttributes returns the attributes of a message with its Death in the envelope. If a foreign message has no
// room for one more attribute, or has one of the envelope's name, that is packed into the envelope with its type: a
// consumer sees it as a header, as the others, and Forward makes it an attribute again.
func deadLetterAttributes(m *Message, body string, d envelope.Death,
	routing string,
) map[string]types.MessageAttributeValue {
	attributes := make(map[string]types.MessageAttributeValue, len(m.MessageAttributes)+1)
	maps.Copy(attributes, m.MessageAttributes)
	text := attributeText(attributes[EnvelopeAttribute])
	var out []envelope.Packed
	if own, ok := attributes[EnvelopeAttribute]; ok && (aws.ToString(own.DataType) != stringType ||
		!envelope.Is(text)) {
		out, text = append(out, packedHeader(rawAttribute(EnvelopeAttribute, own))), ""
	}
	if _, ok := trust.Parse(body); ok && len(attributes) == 0 {
		text = envelope.Envelope{Version: envelope.Version, Wrapped: true}.String()
	}
	delete(attributes, EnvelopeAttribute)
	if surplus := len(attributes) + 1 - maxAttributes; surplus > 0 {
		out = append(out, moveOut(attributes, surplus, routing)...)
	}
	text = envelope.AddDeath(text, d)
	if ms := Number(m.Attributes["SentTimestamp"]); ms > 0 {
		text = envelope.WithFirst(text, time.UnixMilli(ms))
	}
	text = envelope.Pack(text, out)
	kind := stringType
	attributes[EnvelopeAttribute] = types.MessageAttributeValue{DataType: &kind, StringValue: &text}
	return attributes
}

// moveOut removes n attributes and returns them: first plain strings, and none that other programs read.
func moveOut(attributes map[string]types.MessageAttributeValue, n int, routing string) []envelope.Packed {
	rank := func(name string) int {
		switch {
		case name == routing, name == claim.SizeAttribute, name == claim.OldSizeAttribute:
			return 2
		case aws.ToString(attributes[name].DataType) != stringType:
			return 1
		}
		return 0
	}
	names := slices.SortedFunc(maps.Keys(attributes), func(a, b string) int {
		if x, y := rank(a), rank(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	out := make([]envelope.Packed, 0, n)
	for _, name := range names[:n] {
		out = append(out, packedHeader(rawAttribute(name, attributes[name])))
		delete(attributes, name)
	}
	return out
}

// entrySize returns the size of an entry as SQS counts it.
func entrySize(e *types.SendMessageBatchRequestEntry) int {
	n := len(aws.ToString(e.MessageBody))
	for name, a := range e.MessageAttributes {
		n += len(name) + len(aws.ToString(a.DataType)) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}
	return n
}

// Fitting returns how many entries fit into one request: at least one, and together no larger than SQS accepts.
func Fitting(entries []types.SendMessageBatchRequestEntry, room int) int {
	n := 1
	for room -= entrySize(&entries[0]); n < len(entries); n++ {
		if room -= entrySize(&entries[n]); room < 0 {
			break
		}
	}
	return n
}
