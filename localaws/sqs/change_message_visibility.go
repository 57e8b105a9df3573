package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ChangeMessageVisibilityInput is the input of ChangeMessageVisibility.
type ChangeMessageVisibilityInput struct {
	QueueURL          string `json:"QueueUrl"`
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int32 `json:"VisibilityTimeout"`
}

// changeMessageVisibility counts its timeout from now, and the 12 hours of a receive in all. An expired handle still
// works on a standard queue as long as no receive has superseded it (recorded on AWS, 2024-04), and not on a FIFO queue
// (2025-10).
func (s *Service) changeMessageVisibility(_ context.Context, c *wire.Call, in *ChangeMessageVisibilityInput) (*Empty,
	error,
) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	return &Empty{}, changeOne(q, in.ReceiptHandle, in.VisibilityTimeout)
}

func changeOne(q *Queue, handle string, timeout *int32) error {
	if handle == "" {
		return missing("ReceiptHandle")
	}
	if timeout == nil {
		return missing("VisibilityTimeout")
	}
	if *timeout < 0 || *timeout > 43_200 {
		return invalidValue(*timeout, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200")
	}
	return handleError(q.model.ChangeVisibility(handle, seconds(*timeout)), handle, *timeout)
}
