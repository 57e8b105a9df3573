package snssqs

import (
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// The systems of addresses, as OpenTelemetry names them.
const (
	systemSQS = "aws_sqs"
	systemSNS = "aws.sns"
)

// Message is what SQS and SNS delivered beside the fields of a delivery. Pass a *Message to godwit.Delivery.As to get
// it. The maps are copies.
type Message struct {
	Queue string // its name
	// Attributes are the system attributes: SenderId, ApproximateFirstReceiveTimestamp, SequenceNumber, AWSTraceHeader
	// and others.
	Attributes map[string]string
	// MessageAttributes are the attributes with their types, also those of Godwit.
	MessageAttributes map[string]types.MessageAttributeValue
	// Topic is the ARN of the SNS topic, Subject is what its publisher set, and Published is when SNS accepted the
	// message. They are known only if it came in SNS's own JSON, from a topic that the channel trusts: a subscription
	// with raw delivery, as Godwit makes them, does not pass them on.
	Topic, Subject string
	Published      time.Time
}

// TraceHeader is the trace header of AWS X-Ray that the message has; "": it has none.
func (m *Message) TraceHeader() string { return m.Attributes[wire.TraceHeader] }

// As implements driver.Native: it knows *Message, *types.Message of the SDK as it was received, and *driver.Provenance.
func (r *receiver) As(h driver.Handle, to any) bool {
	m, ok := h.Ref.(*wire.Message)
	if !ok {
		return false
	}
	switch to := to.(type) {
	case *driver.Provenance:
		*to = driver.Provenance{Trace: m.Attributes[wire.TraceHeader]}
	case *Message:
		*to = Message{
			Queue: r.queue.name, Attributes: maps.Clone(m.Attributes),
			MessageAttributes: maps.Clone(m.MessageAttributes),
		}
		if m.Came != nil {
			to.Topic, to.Subject = m.Came.TopicArn, aws.ToString(m.Came.Subject)
			to.Published, _ = time.Parse(time.RFC3339, m.Came.Timestamp) // zero if it is not SNS's
		}
	case *types.Message:
		*to = m.Message
		to.Body = m.Text()
		to.Attributes = maps.Clone(m.Attributes)
		to.MessageAttributes = maps.Clone(m.MessageAttributes)
	default:
		return false
	}
	return true
}

// Address implements driver.Addresser.
func (b *Backend) Address(ch driver.Channel) driver.Address {
	if ch.Queue == "" {
		if as, mapped := b.mapped(ch); mapped {
			return driver.Address{System: systemSNS, Destination: lastPart(as.Topic, ":")}
		}
		name, _ := b.namespace.topic(ch) // a channel whose name cannot be a topic is refused when it is opened
		return driver.Address{System: systemSNS, Destination: name}
	}
	if as, mapped := b.mapped(ch); mapped && as.Queue != "" && !ch.DeadLetter {
		return driver.Address{System: systemSQS, Destination: lastPart(lastPart(as.Queue, "/"), ":")}
	}
	name, _ := b.namespace.queue(ch)
	return driver.Address{System: systemSQS, Destination: name}
}

// lastPart is the text after the last separator.
func lastPart(text, separator string) string { return text[strings.LastIndex(text, separator)+1:] }
