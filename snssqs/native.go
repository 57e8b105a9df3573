package snssqs

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/snssqs/internal/wire"
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
