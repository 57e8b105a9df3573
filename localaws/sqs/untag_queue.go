package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// UntagQueueInput is the input of UntagQueue.
type UntagQueueInput struct {
	QueueURL string   `json:"QueueUrl"`
	TagKeys  []string `json:"TagKeys" query:"TagKey,flat"`
}

// untagQueue removes tags; keys that the queue does not have are ignored (AWS's API reference, UntagQueue).
func (s *Service) untagQueue(_ context.Context, c *wire.Call, in *UntagQueueInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	switch {
	case in.TagKeys == nil && c.Protocol == wire.JSON:
		return nil, missing("TagKeys")
	case len(in.TagKeys) == 0:
		return nil, badTagKey()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range in.TagKeys {
		delete(q.tags, key)
	}
	q.keep()
	return &Empty{}, nil
}
