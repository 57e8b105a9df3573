package sqs

import (
	"context"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListQueuesInput is the input of ListQueues.
type ListQueuesInput struct {
	Prefix     string `json:"QueueNamePrefix"`
	NextToken  string `json:"NextToken"`
	MaxResults *int32 `json:"MaxResults"`
}

// ListQueuesOutput is the output of ListQueues.
type ListQueuesOutput struct {
	NextToken string   `json:"NextToken"`
	QueueURLs []string `json:"QueueUrls" query:"QueueUrl,flat,json=queueUrls"`
}

// listQueues has a NextToken only if the request has MaxResults; otherwise it lists up to 1,000 queues, and the member
// is omitted if there are none (AWS's API reference, ListQueues).
func (s *Service) listQueues(_ context.Context, c *wire.Call, in *ListQueuesInput) (*ListQueuesOutput, error) {
	all := slices.DeleteFunc(s.Queues(), func(q *Queue) bool { return !strings.HasPrefix(q.name, in.Prefix) })
	some, next, bad := page(all, in.NextToken, in.MaxResults)
	if bad != nil {
		return nil, bad
	}
	return &ListQueuesOutput{NextToken: next, QueueURLs: s.urls(c, some)}, nil
}
