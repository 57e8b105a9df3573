package snssqs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/envelope"
)

// decode fills a delivery from a received message. If the message cannot be decoded, the delivery has the raw bytes and
// the reason.
func (r *receiver) decode(m *message, d *driver.Delivery) {
	from := r.from
	d.ID = aws.ToString(m.MessageId)
	d.Received = int32(number(m.Attributes["ApproximateReceiveCount"]))
	if ms := number(m.Attributes["SentTimestamp"]); ms > 0 {
		d.SentAt = time.UnixMilli(ms)
	}
	text, env, attributes, err := r.open(m)
	switch {
	case err != nil:
	case claim.Announced(attributes.text):
		err = r.point(m, d, text, attributes.text)
	default:
		d.Body, err = envelope.Decode(text, env.Encoding)
	}
	if env.Delay > 0 && !d.SentAt.IsZero() && !from.DeadLetter {
		d.Due = d.SentAt.Add(time.Duration(env.Delay) * time.Second)
	}
	if err != nil {
		d.Body, env.Encoding = []byte(text), envelope.Plain
	}
	if m.pointer == nil {
		m.share(d.Body, text, env.Encoding)
	}
	d.Err = err
	d.ContentType, d.Type, d.Version = env.ContentType, env.Type, env.TypeVersion
	d.RoutingKey = attributes.text[r.routing]
	d.Header = headers(env, attributes, r.routing)
	d.OrderKey, d.Tenant = keys(from, m.Attributes["MessageGroupId"], env.OrderKey)
	if from.DeadLetter {
		_, moved := m.Attributes["DeadLetterQueueSourceArn"]
		d.Origin = origin(from, env, d, moved)
	}
}

// point gives a delivery the body to which its message points, and hides the attributes that say so.
func (r *receiver) point(m *message, d *driver.Delivery, text string, attributes map[string]string) error {
	p, err := r.b.readPointer(text, attributes)
	if err != nil {
		return err
	}
	p.alone = !sharedKey(p.At.Key) && text == aws.ToString(m.Body) // otherwise it came through SNS
	m.pointer, d.Opener, d.Size = p, p, p.Size
	delete(attributes, claim.SizeAttribute)
	delete(attributes, claim.OldSizeAttribute)
	return nil
}

// share drops the received body if it can be rebuilt from the delivery's, so that large messages are in memory once.
func (m *message) share(body []byte, text string, e envelope.Encoding) {
	if text == aws.ToString(m.Body) && e != envelope.Empty { // not for a body that was unwrapped from SNS's JSON
		m.Body, m.body, m.encoding = nil, body, e
	}
}

// text returns the body as received.
func (m *message) text() *string {
	if m.Body == nil {
		text := m.encoding.Text(m.body)
		return &text
	}
	return m.Body
}

// open returns body, envelope and attributes of a message. It also opens SNS's own JSON, in which a message arrives if
// the subscription has no raw delivery, from topics that the channel trusts: without any attribute or, as a dead
// letter, with ours that marks it.
func (r *receiver) open(m *message) (body string, env envelope.Envelope, attributes attributeTexts, err error) {
	body = aws.ToString(m.Body)
	attributes.text = make(map[string]string, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		attributes.set(name, aws.ToString(a.DataType), attributeText(a))
	}
	env, err = readEnvelope(attributes.text)
	unpack(&env, &attributes)
	if err != nil || len(attributes.text) > 0 && !env.Wrapped {
		return body, env, attributes, err
	}
	n, ok := notificationOf(body)
	if !ok {
		return body, env, attributes, nil
	}
	if !r.trust.includes(n.TopicArn) {
		m.untrusted = n.TopicArn
		return body, env, attributes, nil
	}
	if err := r.checkSignature(n); err != nil {
		return body, env, attributes, err
	}
	came := n.publication // a copy: the rest of n has the message's text once more
	m.came = &came
	deaths := env.Deaths
	attributes.clear()
	for name, a := range n.MessageAttributes {
		attributes.set(name, a.Type, a.Value)
	}
	env, err = readEnvelope(attributes.text)
	unpack(&env, &attributes)
	env.Deaths = append(env.Deaths, deaths...)
	return n.Message, env, attributes, err
}

// unpack adds the attributes and the headers with types that travel in the envelope. One that has the envelope's own
// name is a header.
func unpack(env *envelope.Envelope, attributes *attributeTexts) {
	for _, p := range slices.Concat(env.Packed, env.Typed) {
		text := p.Text
		if binary(p.Type) {
			text = base64.StdEncoding.EncodeToString(p.Binary)
		}
		if p.Name != envelopeAttribute {
			attributes.set(p.Name, p.Type, text)
			continue
		}
		if env.Headers == nil {
			env.Headers = map[string]string{}
		}
		env.Headers[p.Name] = text
	}
}

// attributeText returns an attribute as the text of a header. A binary value is in base64, as in SNS's JSON.
func attributeText(a types.MessageAttributeValue) string {
	if a.StringValue == nil {
		return base64.StdEncoding.EncodeToString(a.BinaryValue)
	}
	return *a.StringValue
}

// notification is SNS's JSON for a message without raw delivery.
type notification struct {
	publication
	Type              string
	MessageID         string `json:"MessageId"`
	Message           string
	MessageAttributes map[string]struct{ Type, Value string }

	SignatureVersion, Signature string
	CertURL                     string `json:"SigningCertURL"`
}

// publication is what SNS says about a message beside body and attributes.
type publication struct {
	TopicArn  string
	Subject   *string // nil: it has none
	Timestamp string  // when SNS accepted it
}

func notificationOf(body string) (n notification, ok bool) {
	if !strings.HasPrefix(body, "{") || !strings.Contains(body, `"TopicArn"`) {
		return n, false
	}
	ok = json.Unmarshal([]byte(body), &n) == nil && n.Type == "Notification" && n.TopicArn != "" && n.MessageID != ""
	return n, ok
}

// looksWrapped reports whether a body without attributes would be taken for SNS's JSON by a channel that trusts its
// topic.
func looksWrapped(body string) bool {
	_, is := notificationOf(body)
	return is
}

func readEnvelope(attributes map[string]string) (envelope.Envelope, error) {
	text, ours := attributes[envelopeAttribute]
	if !ours {
		return envelope.Envelope{}, nil
	}
	return envelope.Parse(text)
}

// keys derives order key and tenant from the message group. A key that is not a valid group is in the envelope.
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

// origin returns where a dead letter came from. A message that SQS itself moved has kept its id and has no reasons; its
// history tells of earlier deaths.
func origin(from driver.Channel, env envelope.Envelope, d *driver.Delivery, moved bool) *driver.Origin {
	o := &driver.Origin{Channel: from, ID: d.ID, OrderKey: d.OrderKey, Deaths: len(env.Deaths)}
	o.Channel.DeadLetter = false
	earlier := env.Deaths
	if n := len(env.Deaths); n > 0 && !moved {
		last := env.Deaths[n-1]
		earlier = env.Deaths[:n-1]
		o.ID = last.ID
		o.Death = driver.Death{
			Error: last.Error, Kind: last.Kind, Consumer: last.Consumer, Channel: last.Channel,
			Attempts: last.Attempts, First: last.First, Last: last.Last,
		}
		if last.OrderKey != "" {
			o.OrderKey = last.OrderKey
		}
	}
	o.Earlier = envelope.IDsOf(earlier)
	return o
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // SQS's own numbers are valid; a missing one is unknown
	}
	return n
}
