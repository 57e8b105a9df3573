package snssqs

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

// decode fills a delivery from a message as received. What cannot be decoded keeps its raw bytes and the reason.
func (b *Backend) decode(m *types.Message, from driver.Channel, d *driver.Delivery) {
	d.ID = deref(m.MessageId)
	d.Received = int32(number(m.Attributes["ApproximateReceiveCount"]))
	if ms := number(m.Attributes["SentTimestamp"]); ms > 0 {
		d.SentAt = time.UnixMilli(ms)
	}
	text, attributes := unwrap(m)
	d.Body, d.Size = []byte(text), int64(len(text))
	env, err := readEnvelope(attributes)
	if err == nil {
		d.Body, err = envelope.Decode(text, env.Encoding)
	}
	if err != nil {
		d.Body, d.Err = []byte(text), err
	}
	d.Size = int64(len(d.Body))
	d.ContentType, d.Type, d.Version = env.ContentType, env.Type, env.TypeVersion
	d.RoutingKey = attributes[routingAttribute]
	d.Header = headers(env, attributes)
	d.OrderKey, d.Tenant = keys(from, m.Attributes["MessageGroupId"], env.OrderKey)
	if from.DeadLetter {
		d.Origin = b.origin(from, env)
	}
}

// unwrap returns the body and the attributes as text, also of a message that SNS delivered in its own JSON.
func unwrap(m *types.Message) (string, map[string]string) {
	body := deref(m.Body)
	if n, ok := notificationOf(body); ok && len(m.MessageAttributes) == 0 {
		attributes := make(map[string]string, len(n.MessageAttributes))
		for name, a := range n.MessageAttributes {
			attributes[name] = a.Value
		}
		return n.Message, attributes
	}
	attributes := make(map[string]string, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		if a.StringValue != nil {
			attributes[name] = *a.StringValue
		} else {
			attributes[name] = string(a.BinaryValue)
		}
	}
	return body, attributes
}

// notification is what SNS makes of a message without raw delivery.
type notification struct {
	Type, TopicArn, MessageId string //nolint:revive // SNS's own spelling
	Message                   string
	MessageAttributes         map[string]struct{ Type, Value string }
}

func notificationOf(body string) (n notification, ok bool) {
	if !strings.HasPrefix(body, "{") || !strings.Contains(body, `"TopicArn"`) {
		return n, false
	}
	ok = json.Unmarshal([]byte(body), &n) == nil && n.Type == "Notification" && n.TopicArn != "" && n.MessageId != ""
	return n, ok
}

func readEnvelope(attributes map[string]string) (envelope.Envelope, error) {
	text, ours := attributes[envelopeAttribute]
	if !ours {
		return envelope.Envelope{}, nil
	}
	return envelope.Parse(text)
}

// headers are those of the envelope, and for foreign messages their attributes.
func headers(env envelope.Envelope, attributes map[string]string) []driver.Header {
	n := len(env.Headers) + len(attributes)
	if n == 0 {
		return nil
	}
	hs := make([]driver.Header, 0, n)
	for name, value := range env.Headers {
		hs = append(hs, driver.Header{Name: name, Value: value})
	}
	for name, value := range attributes {
		_, ours := env.Headers[name]
		if ours || name == envelopeAttribute || name == routingAttribute {
			continue
		}
		hs = append(hs, driver.Header{Name: name, Value: value})
	}
	return hs
}

// keys tells order key and tenant from the message group; a key that the group could not hold travels in the envelope.
func keys(from driver.Channel, group, travelled string) (order, tenant string) {
	key := group
	if travelled != "" {
		key = travelled
	}
	switch {
	case !from.Ordered:
		return "", key
	case group == defaultGroup:
		return "", ""
	}
	return key, ""
}

func (b *Backend) origin(from driver.Channel, env envelope.Envelope) *driver.Origin {
	o := &driver.Origin{Channel: from}
	o.Channel.DeadLetter = false
	if n := len(env.Deaths); n > 0 {
		last := env.Deaths[n-1]
		o.ID, o.OrderKey = last.ID, last.OrderKey
		o.Death = driver.Death{Error: last.Error, Kind: last.Kind, Consumer: last.Consumer, Channel: last.Channel,
			Attempts: last.Attempts, First: last.First, Last: last.Last}
	}
	return o
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // SQS's own numbers are numbers; what is missing counts as unknown
	}
	return n
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
