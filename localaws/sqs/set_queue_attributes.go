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

// setQueueAttributes changes the named attributes only. FifoQueue cannot be changed, and a redrive policy whose target
// does not exist is refused (AWS's API reference). AWS takes up to 60 s for a change, and 15 minutes for a retention.
func (s *Service) setQueueAttributes(_ context.Context, c *wire.Call, in *SetQueueAttributesInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	if bad := s.configure(q, in.Attributes); bad != nil {
		return nil, bad
	}
	return &Empty{}, nil
}

// Configure is SetQueueAttributes without the wire; name may be a name, a URL or an ARN.
func (s *Service) Configure(name string, attributes map[string]string) error {
	q := s.Queue(name)
	if q == nil {
		return noQueue()
	}
	if bad := s.configure(q, attributes); bad != nil {
		return bad
	}
	return nil
}

func (s *Service) configure(q *Queue, attributes map[string]string) *wire.Error {
	if len(attributes) == 0 {
		return missing("Attribute.Name")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	set := *q.settings.Load()
	if bad := apply(&set, q.fifo, attributes); bad != nil {
		return bad
	}
	if _, given := attributes["RedrivePolicy"]; given {
		if bad := s.checkTarget(&set, q.name); bad != nil {
			return bad
		}
	}
	set.modified = s.opts.Clock.Now()
	q.change(func(old *settings) { *old = set })
	return nil
}
