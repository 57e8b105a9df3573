package sqs

import (
	"context"
	"maps"

	"github.com/godwitmq/godwit/localaws/wire"
)

// TagQueueInput is the input of TagQueue.
type TagQueueInput struct {
	QueueURL string `json:"QueueUrl"`
	// The SDK for Java v1 writes Tags.1.Key.
	Tags map[string]string `json:"Tags" query:"Tag,or=Tags,flat,key=Key,value=Value"`
}

// tagQueue adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference, TagQueue).
func (s *Service) tagQueue(_ context.Context, c *wire.Call, in *TagQueueInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	if len(in.Tags) == 0 {
		return nil, missing("Tags")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if bad := checkTags(q.name, q.tags, in.Tags); bad != nil {
		return nil, bad
	}
	maps.Copy(q.tags, in.Tags)
	q.keep()
	return &Empty{}, nil
}
