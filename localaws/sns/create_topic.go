package sns

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// CreateTopicInput is the input of CreateTopic.
type CreateTopicInput struct {
	Name                 string            `json:"Name"`
	Attributes           map[string]string `json:"Attributes"`
	Tags                 []Tag             `json:"Tags"`
	DataProtectionPolicy *string           `json:"DataProtectionPolicy"`
}

// CreateTopicOutput is the output of CreateTopic.
type CreateTopicOutput struct {
	TopicArn string `json:"TopicArn"`
}

// createTopic returns the existing topic if the request's attributes are those that the topic has, and is an
// InvalidParameter otherwise, also for other tags (AWS's API reference).
func (s *Service) createTopic(_ context.Context, _ *wire.Call, in *CreateTopicInput) (*CreateTopicOutput, error) {
	if in.DataProtectionPolicy != nil {
		return nil, invalid("DataProtectionPolicy is not supported by this server")
	}
	t, fault := s.wishedTopic(in)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.topics[t.arn]; ok {
		s.touch(old)
		if fault := old.alike(in, t, s.opts.Account); fault != nil {
			return nil, fault
		}
		return &CreateTopicOutput{TopicArn: t.arn}, nil
	}
	if fault := s.roomForTopic(t.fifo); fault != nil {
		return nil, fault
	}
	t.number = s.carrier.number.Add(1)
	s.topics[t.arn] = t
	s.records.topic(t)
	s.touch(t)
	return &CreateTopicOutput{TopicArn: t.arn}, nil
}

// wishedTopic returns the topic that a request describes.
func (s *Service) wishedTopic(in *CreateTopicInput) (*topic, *wire.Error) {
	fifo := strings.ToLower(in.Attributes[fifoTopic])
	form := topicName
	switch fifo {
	case "true":
		form = fifoName
	case "", "false":
	default:
		return nil, invalid("Attributes Reason: FifoTopic")
	}
	if !form.MatchString(in.Name) {
		return nil, invalid("Topic Name")
	}
	tags, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	t := &topic{
		name: in.Name, fifo: fifo == "true", tags: tags, attributes: map[string]string{}, meter: &meter{},
	}
	t.arn = s.place().ARN("sns", in.Name)
	t.policy = defaultPolicy(t.arn, s.opts.Account)
	if t.fifo {
		t.fifoOrder = newFIFOOrder(keptOrder{records: records{s.opts.Store}, arn: t.arn})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Attributes)) {
		if name == fifoTopic {
			continue
		}
		if fault := t.set(name, in.Attributes[name]); fault != nil {
			return nil, attributesReason(name, fault)
		}
	}
	return t, nil
}

// attributesReason rewords the error about an attribute as actions do that take several attributes.
func attributesReason(name string, fault *wire.Error) *wire.Error {
	reason := strings.TrimPrefix(fault.Message, "Invalid parameter: ")
	if reason == unknownAttribute {
		reason = "Unknown attribute " + name
	}
	return invalid("Attributes Reason: %s", reason)
}

// attributesFault is the same as attributesReason if there is an error.
func attributesFault(name string, fault *wire.Error) *wire.Error {
	if fault == nil {
		return nil
	}
	return attributesReason(name, fault)
}

// unknownAttribute is the error text of actions that take one attribute, for a name they do not know.
const unknownAttribute = "AttributeName"

// alike returns an error if the request to create an existing topic again has different values. Missing values are
// allowed.
func (t *topic) alike(in *CreateTopicInput, wished *topic, account string) *wire.Error {
	has, wants := t.shown(account), wished.shown(account)
	for name := range in.Attributes {
		if name == fifoTopic {
			continue // it is part of the name
		}
		if has[name] != wants[name] {
			return invalid("Attributes Reason: Topic already exists with different attributes")
		}
	}
	for key, value := range wished.tags {
		if old, ok := t.tags[key]; !ok || old != value {
			return invalid("Tags Reason: Topic already exists with different tags")
		}
	}
	return nil
}

func (s *Service) roomForTopic(fifo bool) *wire.Error {
	count, limit := 0, maxTopics
	if fifo {
		limit = maxFIFOTopics
	}
	if len(s.topics) < limit {
		return nil
	}
	for _, t := range s.topics {
		if t.fifo == fifo {
			count++
		}
	}
	if count >= limit {
		return limitExceeded("TopicLimitExceeded", "Topic limit exceeded")
	}
	return nil
}
