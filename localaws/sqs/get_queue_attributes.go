package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetQueueAttributesInput is the input of GetQueueAttributes.
type GetQueueAttributesInput struct {
	QueueURL       string   `json:"QueueUrl"`
	AttributeNames []string `json:"AttributeNames" query:"AttributeName,flat"`
}

// GetQueueAttributesOutput is the output of GetQueueAttributes.
type GetQueueAttributesOutput struct {
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
}

// getQueueAttributes shows nothing if no attribute is asked for, and omits those without a value. Numbers of messages
// are exact here, and approximate on AWS (AWS's API reference, GetQueueAttributes).
func (s *Service) getQueueAttributes(_ context.Context, c *wire.Call,
	in *GetQueueAttributesInput,
) (*GetQueueAttributesOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	wanted := map[string]bool{}
	for _, name := range in.AttributeNames {
		if _, known := findAttribute(name); !known && name != "All" {
			return nil, unknownAttribute(name)
		}
		wanted[name] = true
	}
	out := &GetQueueAttributesOutput{}
	for name, v := range q.Attributes() {
		if wanted["All"] || wanted[name] {
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[name] = v
		}
	}
	return out, nil
}

// Attributes returns all attributes of a queue as GetQueueAttributes shows them.
func (q *Queue) Attributes() map[string]string {
	set, stats := q.settings.Load(), q.model.Stats()
	all := map[string]string{}
	for _, a := range attributes() {
		if v, there := a.show(q, set, stats); there {
			all[a.name] = v
		}
	}
	return all
}
