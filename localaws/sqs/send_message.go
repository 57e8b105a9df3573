package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// SendMessageInput is the input of SendMessage.
type SendMessageInput struct {
	QueueURL                string                    `json:"QueueUrl"`
	MessageBody             string                    `json:"MessageBody"`
	DelaySeconds            *int32                    `json:"DelaySeconds"`
	MessageAttributes       map[string]attributeValue `json:"MessageAttributes" query:"MessageAttribute,flat,key=Name,value=Value"`
	MessageSystemAttributes map[string]attributeValue `json:"MessageSystemAttributes" query:"MessageSystemAttribute,flat,key=Name,value=Value"`
	MessageDeduplicationID  *string                   `json:"MessageDeduplicationId"`
	MessageGroupID          *string                   `json:"MessageGroupId"`
}

// SendMessageOutput is the output of SendMessage.
type SendMessageOutput struct {
	BodyMD5        string `json:"MD5OfMessageBody"`
	AttributesMD5  string `json:"MD5OfMessageAttributes"`
	SystemMD5      string `json:"MD5OfMessageSystemAttributes"`
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// sendMessage accepts 1 MiB with attributes (recorded on AWS, 2025-08), and a group on standard queues, for fairness. A
// duplicate on a FIFO queue is answered with the first message's id and sequence number, also after that was deleted.
func (s *Service) sendMessage(_ context.Context, c *wire.Call, in *SendMessageInput) (*SendMessageOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	put, bad := s.message(q, q.settings.Load(), &outgoing{
		body: in.MessageBody, delay: in.DelaySeconds, attributes: in.MessageAttributes,
		system: in.MessageSystemAttributes,
		trace:  c.Trace, group: in.MessageGroupID, dedup: in.MessageDeduplicationID,
	}, wire.UserID)
	if bad != nil {
		return nil, bad
	}
	accepted, err := q.model.Put(put)
	if err != nil {
		return nil, modelError(err)
	}
	return &SendMessageOutput{
		BodyMD5: put.Message.BodyMD5, AttributesMD5: put.Message.AttributesMD5,
		SystemMD5: systemMD5(in.MessageSystemAttributes),
		MessageID: accepted[0].ID, SequenceNumber: accepted[0].Sequence,
	}, nil
}
