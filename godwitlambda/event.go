package godwitlambda

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sqsSource is the eventSource of messages of SQS.
const sqsSource = "aws:sqs"

// event is what Lambda passes to a function whose event source is a queue.
type event struct {
	Records []record
}

// record is one message.
type record struct {
	MessageID         string `json:"messageId"`
	ReceiptHandle     string `json:"receiptHandle"`
	Body              string `json:"body"`
	MD5OfBody         string `json:"md5OfBody"`
	Attributes        map[string]string
	MessageAttributes map[string]attribute
	EventSource       string `json:"eventSource"`
	EventSourceARN    string `json:"eventSourceARN"`
}

// attribute is a message attribute; a binary value is in base64.
type attribute struct {
	StringValue *string `json:"stringValue"`
	BinaryValue []byte  `json:"binaryValue"`
	DataType    string  `json:"dataType"`
}

// readEvent returns the messages of an event, as SQS returns them, and the ARN of their queue.
func readEvent(payload []byte) (queueARN string, ms []types.Message, err error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", nil, fmt.Errorf("godwitlambda: the event is no event of SQS: %w", err)
	}
	if len(e.Records) == 0 {
		return "", nil, errors.New("godwitlambda: the event has no Records: this function handles events of SQS, so invoke " +
			"it by an event source mapping of a queue")
	}
	ms = make([]types.Message, len(e.Records))
	for i := range e.Records {
		r := &e.Records[i]
		switch {
		case r.EventSource != sqsSource:
			return "", nil, fmt.Errorf("godwitlambda: Records[%d] comes from %q, and this function handles messages of %s: "+
				"send the events to a queue, and map that", i, r.EventSource, sqsSource)
		case r.MessageID == "" || r.ReceiptHandle == "":
			return "", nil, fmt.Errorf("godwitlambda: Records[%d] has no messageId or no receiptHandle, so it cannot be "+
				"settled", i)
		case r.EventSourceARN == "":
			return "", nil, fmt.Errorf("godwitlambda: Records[%d] has no eventSourceARN, which names its queue", i)
		case r.EventSourceARN != e.Records[0].EventSourceARN:
			return "", nil, fmt.Errorf("godwitlambda: Records[%d] is of queue %s, and Records[0] of %s: an event has "+
				"messages of one queue", i, r.EventSourceARN, e.Records[0].EventSourceARN)
		}
		ms[i] = r.message()
	}
	return e.Records[0].EventSourceARN, ms, nil
}

// message is the record as SQS returns it.
func (r *record) message() types.Message {
	m := types.Message{
		MessageId: &r.MessageID, ReceiptHandle: &r.ReceiptHandle, Body: &r.Body, Attributes: r.Attributes,
	}
	if r.MD5OfBody != "" {
		m.MD5OfBody = &r.MD5OfBody
	}
	if len(r.MessageAttributes) > 0 {
		m.MessageAttributes = make(map[string]types.MessageAttributeValue, len(r.MessageAttributes))
	}
	for name, a := range r.MessageAttributes {
		m.MessageAttributes[name] = types.MessageAttributeValue{
			DataType: &a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue,
		}
	}
	return m
}

// answer is what the function returns: the messages that are to be delivered again.
type answer struct {
	BatchItemFailures []failure `json:"batchItemFailures"`
}

type failure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

func newAnswer(ids []string) answer {
	a := answer{BatchItemFailures: make([]failure, len(ids))}
	for i, id := range ids {
		a.BatchItemFailures[i].ItemIdentifier = id
	}
	return a
}
