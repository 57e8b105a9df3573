package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListQueueTagsOutput is the output of ListQueueTags.
type ListQueueTagsOutput struct {
	Tags map[string]string `json:"Tags" query:"Tag,flat,key=Key,value=Value"`
}

// listQueueTags omits the member Tags if the queue has none (recorded on AWS).
func (s *Service) listQueueTags(_ context.Context, c *wire.Call, in *QueueInput) (*ListQueueTagsOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	out := &ListQueueTagsOutput{}
	if tags := q.Tags(); len(tags) > 0 { // AWS omits Tags if the queue has none
		out.Tags = tags
	}
	return out, nil
}
