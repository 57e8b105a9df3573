package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListDeadLetterSourceQueuesInput is the input of ListDeadLetterSourceQueues.
type ListDeadLetterSourceQueuesInput struct {
	QueueURL   string `json:"QueueUrl"`
	NextToken  string `json:"NextToken"`
	MaxResults *int32 `json:"MaxResults"`
}

// ListDeadLetterSourceQueuesOutput is the output of ListDeadLetterSourceQueues.
type ListDeadLetterSourceQueuesOutput struct {
	NextToken string   `json:"NextToken"`
	QueueURLs []string `json:"queueUrls" query:"QueueUrl,flat"` // AWS really uses a small q in awsJson
}

// listDeadLetterSourceQueues lists the queues whose redrive policy names this one. Its member is queueUrls, in lower
// case, unlike that of ListQueues (AWS's API reference).
func (s *Service) listDeadLetterSourceQueues(_ context.Context, c *wire.Call,
	in *ListDeadLetterSourceQueuesInput,
) (*ListDeadLetterSourceQueuesOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	some, next, bad := page(s.sources(q), in.NextToken, in.MaxResults)
	if bad != nil {
		return nil, bad
	}
	return &ListDeadLetterSourceQueuesOutput{NextToken: next, QueueURLs: s.urls(c, some)}, nil
}

// sources returns the queues whose dead letters go to a queue.
func (s *Service) sources(target *Queue) []*Queue {
	var sources []*Queue
	for _, q := range s.Queues() {
		if r := q.settings.Load().redrive; r != nil && r.target == target.arn {
			sources = append(sources, q)
		}
	}
	return sources
}
