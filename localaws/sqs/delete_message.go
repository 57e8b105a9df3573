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

// deleteMessage answers success to a superseded handle of a standard queue, and deletes nothing; only a receive that
// hides the message supersedes (recorded on AWS, 2024-05-14). An expired handle that is the latest deletes, but on FIFO
// queues (2025-03, 2025-10).
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
