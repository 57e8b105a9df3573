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

// CheckMD5 returns an error for a message that the service received with another body than the one that was sent. If it
// returned no MD5, there is none. Godwit checks the MD5 itself, because the SDK's check fails the whole batch, and
// panics
// if an answer has no id.
func CheckMD5(id string, body, told *string) error {
	if body == nil || told == nil {
		return nil
	}
	sum := md5.Sum([]byte(*body))
	var digits [2 * md5.Size]byte
	hex.Encode(digits[:], sum[:])
	if string(digits[:]) == *told {
		return nil
	}
	return client.Transient(
		"message %s: the MD5 of the body that the service received differs from that of the body sent; it is sent again", id,
	)
}
