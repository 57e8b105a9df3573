package snssqs

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
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
	// Attributes are the system attributes: SenderId, SequenceNumber, AWSTraceHeader and others.
	Attributes map[string]string
	// MessageAttributes are the attributes with their types, also those of Godwit.
	MessageAttributes map[string]types.MessageAttributeValue
	// Topic is the ARN of the SNS topic, and Subject is what its publisher set. Both are known only if the message came
	// in SNS's own JSON: a subscription with raw delivery, as Godwit makes them, does not pass them on.
	Topic, Subject string
}

// TraceHeader is the trace header of AWS X-Ray that the message has; "": it has none.
func (m *Message) TraceHeader() string { return m.Attributes[traceHeader] }

// As implements driver.Native: it knows *Message and *driver.Provenance.
func (r *receiver) As(h driver.Handle, to any) bool {
	m, ok := h.Ref.(*message)
	if !ok {
		return false
	}
	switch to := to.(type) {
	case *driver.Provenance:
		*to = driver.Provenance{Trace: m.Attributes[traceHeader]}
	case *Message:
		*to = Message{
			Queue: r.queue.name, Attributes: maps.Clone(m.Attributes),
			MessageAttributes: maps.Clone(m.MessageAttributes),
		}
		if m.Body == nil {
			break // it is the delivery's body, so it did not come in SNS's JSON
		}
		if n, ok := notificationOf(*m.Body); ok {
			to.Topic, to.Subject = n.TopicArn, n.Subject
		}
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
