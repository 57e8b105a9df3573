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
