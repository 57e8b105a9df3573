package sns

import (
	"context"
	"regexp"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// PublishInput is what Publish takes.
type PublishInput struct {
	TopicArn               *string                   `json:"TopicArn"`
	TargetArn              *string                   `json:"TargetArn"`
	PhoneNumber            *string                   `json:"PhoneNumber"`
	Message                *string                   `json:"Message"`
	Subject                *string                   `json:"Subject"`
	MessageStructure       string                    `json:"MessageStructure"`
	MessageAttributes      map[string]AttributeValue `json:"MessageAttributes" query:"MessageAttributes,key=Name,value=Value"`
	MessageDeduplicationID *string                   `json:"MessageDeduplicationId"`
	MessageGroupID         *string                   `json:"MessageGroupId"`
}

// PublishOutput is what it answers.
type PublishOutput struct {
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// publish has delivered to every queue when it answers; http and https endpoints get theirs meanwhile.
func (s *Service) publish(_ context.Context, c *wire.Call, in *PublishInput) (*PublishOutput, error) {
	arn, fault := s.target(in)
	if fault != nil {
		return nil, fault
	}
	a, fault := s.audienceOf(arn)
	if fault != nil {
		return nil, fault
	}
	w := &wished{
		message: in.Message, subject: in.Subject, structure: in.MessageStructure,
		attributes: in.MessageAttributes, group: in.MessageGroupID, dedup: in.MessageDeduplicationID,
	}
	m, fault := a.accept(w)
	if fault != nil {
		return nil, fault
	}
	m.trace = c.Trace
	s.send(a, m, c.BaseURL)
	return &PublishOutput{MessageID: m.id, SequenceNumber: m.sequence}, nil
}

// phoneForm is what SNS takes for a telephone number.
var phoneForm = regexp.MustCompile(`^\+?[0-9]{7,20}$`)

// target is the topic a message is for. SNS can also publish to phones and to mobile endpoints; here there
// are none.
func (s *Service) target(in *PublishInput) (string, *wire.Error) {
	switch {
	case in.PhoneNumber != nil && !phoneForm.MatchString(*in.PhoneNumber):
		return "", invalid("PhoneNumber Reason: %s is not valid to publish to", *in.PhoneNumber)
	case in.PhoneNumber != nil:
		return "", invalid("PhoneNumber Reason: this server does not send to phones")
	case in.TopicArn != nil:
		return s.topicARN("TopicArn", "Publish", in.TopicArn)
	case in.TargetArn == nil:
		return "", invalid("TopicArn or TargetArn Reason: no value for required parameter")
	case strings.Contains(*in.TargetArn, ":endpoint/"):
		return "", invalid("TargetArn Reason: No endpoint found for the target arn specified")
	}
	return s.topicARN("TargetArn", "Publish", in.TargetArn)
}

// accept checks a message for a topic as a whole.
func (a *audience) accept(w *wished) (*message, *wire.Error) {
	m, fault := w.check()
	if fault != nil {
		return nil, fault
	}
	if w.size() > a.maximumSize {
		return nil, invalid("Message too long")
	}
	return m, a.finish(m, w)
}

// finish does what needs the topic.
func (a *audience) finish(m *message, w *wished) *wire.Error {
	if fault := m.checkOrder(w, a.topic.fifo, a.dedupByText); fault != nil {
		return fault
	}
	if w.structure == "json" {
		return m.split()
	}
	return nil
}
