package wire

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Decoder makes deliveries of the messages of one channel.
type Decoder struct {
	From       driver.Channel
	Routing    string            // the name of the attribute with the routing key
	Trusted    trust.Topics      // topics whose JSON is opened
	Signatures *trust.Signatures // nil: they are not checked
	Store      driver.Store      // nil: there is none
	// Handled reports whether a message with this body was handled; nil: nobody handles these.
	Handled func(body driver.Location) bool
}

// Decode fills a delivery from a received message. If the message cannot be decoded, the delivery has the raw bytes and
// the reason. The error is about a message that cannot be read now, and that nobody has to reject.
func (c *Decoder) Decode(ctx context.Context, m *Message, d *driver.Delivery) error {
	if err := CheckMD5(aws.ToString(m.MessageId), m.Body, m.MD5OfBody); err != nil {
		return err
	}
	d.ID = aws.ToString(m.MessageId)
	d.Received = int32(Number(m.Attributes["ApproximateReceiveCount"]))
	if ms := Number(m.Attributes["SentTimestamp"]); ms > 0 {
		d.SentAt = time.UnixMilli(ms)
	}
	text, env, attributes, err := c.open(ctx, m)
	switch {
	case err != nil:
	case claim.Announced(attributes.text):
		err = c.point(m, d, text, attributes.text)
	default:
		d.Body, err = envelope.Decode(text, env.Encoding)
	}
	switch {
	case c.From.DeadLetter:
	case env.At > 0:
		d.Due = time.UnixMilli(env.At)
	case env.Delay > 0 && !d.SentAt.IsZero():
		d.Due = d.SentAt.Add(time.Duration(env.Delay) * time.Second)
	}
	ms := env.Expires
	if text, ok := attributes.text[ExpiresAttribute]; ok {
		ms = Number(text)
	}
	d.Expires = time.Duration(min(max(ms, 0), longestExpiry)) * time.Millisecond // otherwise it never does
	d.First = d.SentAt
	if env.First > 0 {
		d.First = time.UnixMilli(env.First)
	}
	if later := env.Later; later != nil && c.From.Later {
		d.ID, d.Due, m.Cancellable = later.ID, time.UnixMilli(later.At), later.Cancellable
		if later.At == 0 {
			d.Due = d.First.Add(time.Duration(later.Delay) * time.Millisecond)
		}
	}
	if err != nil {
		d.Body, env.Encoding = []byte(text), envelope.Plain
	}
	if m.Pointer == nil {
		m.share(d.Body, text, env.Encoding)
	}
	d.Err = err
	d.ContentType, d.Type, d.Version = env.ContentType, env.Type, env.TypeVersion
	d.RoutingKey = attributes.text[c.Routing]
	d.Header = headersOf(env, attributes, c.Routing)
	d.OrderKey, d.Tenant = keys(c.From, m.Attributes["MessageGroupId"], env.OrderKey)
	if c.From.DeadLetter {
		_, moved := m.Attributes["DeadLetterQueueSourceArn"]
		d.Origin = origin(c.From, env, d, moved)
	}
	if err == nil { // the usual case
		return nil
	}
	if unchecked := (*trust.UncheckedError)(nil); errors.As(err, &unchecked) {
		return unchecked
	}
	return nil
}

// point gives a delivery the body to which its message points, and hides the attributes that say so.
func (c *Decoder) point(m *Message, d *driver.Delivery, text string, attributes map[string]string) error {
	if c.Store == nil {
		return &driver.Error{Class: driver.Permanent, Err: &driver.PayloadError{
			Fault: driver.PayloadPointer,
			Err: errors.New("the message announces a pointer to a body in S3, as Amazon's extended clients send it, and the " +
				"backend has no store: set snssqs.Options.Store (s3store.Open)"),
		}}
	}
	at, err := claim.Parse(text, attributes)
	if err != nil {
		return err
	}
	p := &pointer{Pointer: at, store: c.Store, handled: c.Handled}
	p.Alone = !sharedKey(p.At.Key) && text == aws.ToString(m.Body) // otherwise it came through SNS
	m.Pointer, d.Opener, d.Size = p, p, p.Size
	delete(attributes, claim.SizeAttribute)
	delete(attributes, claim.OldSizeAttribute)
	return nil
}

// open returns body, envelope and attributes of a message. It also opens SNS's own JSON, in which a message arrives if
// the subscription has no raw delivery, from topics that the channel trusts: without any attribute or, as a dead
// letter, with ours that marks it.
func (c *Decoder) open(ctx context.Context, m *Message) (body string, env envelope.Envelope,
	attributes attributeTexts, err error,
) {
	body = aws.ToString(m.Body)
	attributes.text = make(map[string]string, len(m.MessageAttributes))
	for name, a := range m.MessageAttributes {
		attributes.set(name, aws.ToString(a.DataType), attributeText(a))
	}
	env, err = attributes.readEnvelope()
	if err != nil || len(attributes.text) > 0 && !env.Wrapped {
		return body, env, attributes, err
	}
	n, ok := trust.Parse(body)
	if !ok {
		return body, env, attributes, nil
	}
	if !c.Trusted.Includes(n.TopicArn) {
		m.Untrusted = n.TopicArn
		return body, env, attributes, nil
	}
	if err := c.Signatures.Check(ctx, &n); err != nil {
		return body, env, attributes, fmt.Errorf("the signature of topic %s (snssqs.Options.CheckSignatures): %w",
			n.TopicArn, err)
	}
	came := n.Publication // a copy: the rest of n has the message's text once more
	m.Came = &came
	outer := env
	attributes = attributeTexts{text: make(map[string]string, len(n.MessageAttributes))}
	for name, a := range n.MessageAttributes {
		attributes.set(name, a.Type, a.Value)
	}
	env, err = attributes.readEnvelope()
	env.Deaths, env.First = append(env.Deaths, outer.Deaths...), cmp.Or(env.First, outer.First)
	return n.Message, env, attributes, err
}

// readEnvelope reads the envelope, and adds the attributes and the headers with types that travel in it. One that has
// the
// envelope's own name is a header.
func (a *attributeTexts) readEnvelope() (env envelope.Envelope, err error) {
	text, ours := a.text[EnvelopeAttribute]
	if !ours {
		return env, nil
	}
	env, err = envelope.Parse(text)
	for _, p := range slices.Concat(env.Packed, env.Typed) {
		text := p.Text
		if Binary(p.Type) {
			text = base64.StdEncoding.EncodeToString(p.Binary)
		}
		if p.Name != EnvelopeAttribute {
			a.set(p.Name, p.Type, text)
			continue
		}
		if env.Headers == nil {
			env.Headers = map[string]string{}
		}
		env.Headers[p.Name] = text
	}
	return env, err
}

// attributeText returns an attribute as the text of a header. A binary value is in base64, as in SNS's JSON.
func attributeText(a types.MessageAttributeValue) string {
	if a.StringValue == nil {
		return base64.StdEncoding.EncodeToString(a.BinaryValue)
	}
	return *a.StringValue
}

// longestExpiry is the longest expiry that a time.Duration holds, in milliseconds.
const longestExpiry = int64(1<<63-1) / int64(time.Millisecond)

// keys derives order key and tenant from the message group. A key that is not a valid group is in the envelope.
func keys(from driver.Channel, group, travelled string) (order, tenant string) {
	key := cmp.Or(travelled, group)
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

// Number is a number of the service.
func Number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // SQS's own numbers are valid; a missing one is unknown
	}
	return n
}
