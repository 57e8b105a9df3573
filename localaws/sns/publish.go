package sns

import (
	"context"
	"regexp"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// PublishInput is the input of Publish.
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

// PublishOutput is the output of Publish.
type PublishOutput struct {
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// publish delivers to every queue before it returns; deliveries to http and https endpoints continue in the background.
// AWS answers as soon as the message is stored, and delivers later (AWS's developer guide).
func (s *Service) publish(ctx context.Context, c *wire.Call, in *PublishInput) (*PublishOutput, error) {
	arn, fault := s.target(c, in)
	if fault != nil {
		return nil, fault
	}
	if in.PhoneNumber != nil {
		return s.publishToPhone(in)
	}
	a, fault := s.recipientsOf(arn)
	if fault != nil {
		return nil, fault
	}
	w := &request{
		message: in.Message, subject: in.Subject, structure: in.MessageStructure,
		attributes: in.MessageAttributes, group: in.MessageGroupID, dedup: in.MessageDeduplicationID,
	}
	m, fault := a.accept(w)
	if fault != nil {
		return nil, fault
	}
	m.trace = c.Trace
	if err := s.publishTo(ctx, a, m, c.BaseURL); err != nil {
		return nil, err
	}
	return &PublishOutput{MessageID: m.id, SequenceNumber: m.sequence}, nil
}

// phoneForm is SNS's form of a telephone number.
var phoneForm = regexp.MustCompile(`^\+?[0-9]{7,20}$`)

// publishToPhone checks a message for a telephone number, and keeps it.
func (s *Service) publishToPhone(in *PublishInput) (*PublishOutput, error) {
	w := &request{
		message: in.Message, subject: in.Subject, structure: in.MessageStructure, attributes: in.MessageAttributes,
	}
	m, fault := w.check()
	if fault == nil && in.MessageStructure == "json" {
		fault = m.split()
	}
	if fault != nil {
		return nil, fault
	}
	if w.size() > defaultMaximumSize {
		return nil, invalid("Message too long")
	}
	m.id = s.opts.Random.UUID()
	s.keep(Unsent{Protocol: "sms", Endpoint: *in.PhoneNumber, MessageID: m.id, Body: m.textFor("sms")})
	return &PublishOutput{MessageID: m.id}, nil
}

// target returns the topic of a request; "": it is for a telephone number. SNS can also publish to mobile endpoints;
// this server has none.
func (s *Service) target(c *wire.Call, in *PublishInput) (string, *wire.Error) {
	switch {
	case in.PhoneNumber != nil && !phoneForm.MatchString(*in.PhoneNumber):
		return "", invalid("PhoneNumber Reason: %s is not valid to publish to", *in.PhoneNumber)
	case in.PhoneNumber != nil:
		return "", nil
	case in.TopicArn != nil:
		return s.topicARN(c, "TopicArn", in.TopicArn)
	case in.TargetArn == nil:
		return "", invalid("TopicArn or TargetArn Reason: no value for required parameter")
	case strings.Contains(*in.TargetArn, ":endpoint/"):
		return "", invalid("TargetArn Reason: No endpoint found for the target arn specified")
	}
	return s.topicARN(c, "TargetArn", in.TargetArn)
}

// accept checks a message and what the topic requires of it.
func (a *recipients) accept(w *request) (*message, *wire.Error) {
	m, fault := w.check()
	if fault != nil {
		return nil, fault
	}
	if w.size() > a.maximumSize {
		return nil, invalid("Message too long")
	}
	return m, a.finish(m, w)
}

// finish reads a message with a text for each protocol, and then makes the checks that need the topic.
func (a *recipients) finish(m *message, w *request) *wire.Error {
	m.size = w.size()
	if w.structure == "json" {
		if fault := m.split(); fault != nil {
			return fault
		}
	}
	return m.checkOrder(w, a.topic.fifo, a.dedupByText)
}
