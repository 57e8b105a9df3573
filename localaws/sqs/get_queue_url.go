package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetQueueURLInput is the input of GetQueueUrl.
type GetQueueURLInput struct {
	QueueName string `json:"QueueName"`
	Owner     string `json:"QueueOwnerAWSAccountId"` // "": the caller's own
}

// getQueueURL finds queues of the caller's account and region. A missing queue has another text in the query protocol
// than in JSON (recorded on AWS).
func (s *Service) getQueueURL(_ context.Context, c *wire.Call, in *GetQueueURLInput) (*QueueURL, error) {
	if in.QueueName == "" {
		return nil, invalidParameter("Value for parameter QueueName is invalid. Reason: Must specify a queue name.")
	}
	if in.Owner != "" && in.Owner != s.opts.Account {
		return nil, noQueue()
	}
	q := s.byName(in.QueueName)
	if q == nil {
		return nil, noQueue()
	}
	q.model.Touch()
	if bad := s.forbidden(c, q); bad != nil {
		return nil, bad
	}
	return &QueueURL{s.url(c, q.name)}, nil
}
