package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// SetQueueAttributesInput is the input of SetQueueAttributes.
type SetQueueAttributesInput struct {
	QueueURL   string            `json:"QueueUrl"`
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
}

func (s *Service) setQueueAttributes(_ context.Context, _ *wire.Call, in *SetQueueAttributesInput) (*Empty, error) {
	q, bad := s.byURL(in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	if len(in.Attributes) == 0 {
		return nil, missing("Attribute.Name")
	}
	if _, given := in.Attributes["FifoQueue"]; given && q.fifo {
		return nil, invalidAttribute("FifoQueue", "Modifying queue type is not supported.")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	set := *q.settings.Load()
	if bad := apply(&set, q.fifo, in.Attributes); bad != nil {
		return nil, bad
	}
	if _, given := in.Attributes["RedrivePolicy"]; given {
		if bad := s.checkTarget(&set, q.name); bad != nil {
			return nil, bad
		}
	}
	set.modified = s.opts.Clock.Now()
	q.change(func(old *settings) { *old = set })
	return &Empty{}, nil
}
