package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Empty is the output of actions without output.
type Empty struct{}

// DeleteMessageInput is the input of DeleteMessage.
type DeleteMessageInput struct {
	QueueURL      string `json:"QueueUrl"`
	ReceiptHandle string `json:"ReceiptHandle"`
}

func (s *Service) deleteMessage(_ context.Context, c *wire.Call, in *DeleteMessageInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	return &Empty{}, deleteOne(q, in.ReceiptHandle)
}

func deleteOne(q *Queue, handle string) error {
	if handle == "" {
		return missing("ReceiptHandle")
	}
	return handleError(q.model.DeleteMessage(handle), handle, 0)
}
