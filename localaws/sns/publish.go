package sns

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// PublishInput is the input of Publish.
type PublishInput struct {
	TopicArn    *string `json:"TopicArn"`
	TargetArn   *string `json:"TargetArn"`
	PhoneNumber *string `json:"PhoneNumber"`
	request
}

// PublishOutput is the output of Publish.
type PublishOutput struct {
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// publish delivers to every queue before it returns; deliveries to http and https endpoints continue in the background.
// AWS answers as soon as the message is stored, and delivers later (AWS's developer guide).
func publish(c call, in *PublishInput) (*PublishOutput, error) {
	arn, fault := publishTarget(c, in)
	if fault != nil {
		return nil, fault
	}
	if in.PhoneNumber != nil {
		return publishToPhone(c.at, in)
	}
	a, fault := c.at.recipientsOf(arn)
	if fault != nil {
		return nil, fault
	}
	m, fault := a.accept(&in.request)
	if fault != nil {
		return nil, fault
	}
	m.trace = c.Trace
	if err := c.at.out.publishTo(c.ctx, a, m, c.BaseURL); err != nil {
		return nil, err
	}
	return &PublishOutput{MessageID: m.id, SequenceNumber: m.sequence}, nil
}

// phoneForm is SNS's form of a telephone number.
var phoneForm = regexp.MustCompile(`^\+?[0-9]{7,20}$`)

// publishToPhone checks a message for a telephone number, and keeps it.
func publishToPhone(s *Service, in *PublishInput) (*PublishOutput, error) {
	m, fault := in.check()
	if fault == nil && in.MessageStructure == "json" {
		fault = m.split()
	}
	if fault != nil {
		return nil, fault
	}
	if in.size() > defaultMaximumSize {
		return nil, invalid("Message too long")
	}
	m.id = s.opts.Random.UUID()
	s.out.keep(Unsent{Protocol: "sms", Endpoint: *in.PhoneNumber, MessageID: m.id, Body: m.textFor("sms")})
	return &PublishOutput{MessageID: m.id}, nil
}

// publishTarget returns the topic of a request; "": it is for a telephone number. SNS can also publish to mobile
// endpoints; this server has none.
func publishTarget(c call, in *PublishInput) (string, *wire.Error) {
	switch {
	case in.PhoneNumber != nil && !phoneForm.MatchString(*in.PhoneNumber):
		return "", invalid("PhoneNumber Reason: %s is not valid to publish to", *in.PhoneNumber)
	case in.PhoneNumber != nil:
		return "", nil
	case in.TopicArn != nil:
		return c.topicARN("TopicArn", in.TopicArn)
	case in.TargetArn == nil:
		return "", invalid("TopicArn or TargetArn Reason: no value for required parameter")
	case strings.Contains(*in.TargetArn, ":endpoint/"):
		return "", invalid("TargetArn Reason: No endpoint found for the target arn specified")
	}
	return c.topicARN("TargetArn", in.TargetArn)
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
	if w.MessageStructure == "json" {
		if fault := m.split(); fault != nil {
			return fault
		}
	}
	return m.checkOrder(w, a.topic.fifo, a.dedupByText)
}

// PublishBatchInput is the input of PublishBatch.
type PublishBatchInput struct {
	TopicArn                   *string             `json:"TopicArn"`
	PublishBatchRequestEntries []PublishBatchEntry `json:"PublishBatchRequestEntries"`
}

// PublishBatchEntry is one message of a batch.
type PublishBatchEntry struct {
	ID string `json:"Id"`
	request
}

// PublishBatchOutput is the output of PublishBatch.
type PublishBatchOutput struct {
	Successful []PublishBatchResult `json:"Successful"`
	Failed     []BatchFailure       `json:"Failed"`
}

// PublishBatchResult is an accepted entry.
type PublishBatchResult struct {
	ID             string `json:"Id"`
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// BatchFailure is a refused entry.
type BatchFailure struct {
	ID          string `json:"Id"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
	SenderFault bool   `json:"SenderFault"`
}

const (
	maxBatch   = 10 // SNS: entries
	maxBatchID = 80 // SNS: characters
)

var batchID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// publishBatch publishes the entries in order. An invalid entry refuses the whole batch (recorded on AWS, 2023-08-24:
// test_publish_batch_exceptions).
func publishBatch(c call, in *PublishBatchInput) (*PublishBatchOutput, error) {
	if fault := checkLength(in.PublishBatchRequestEntries); fault != nil {
		return nil, fault
	}
	arn, fault := c.topicARN("TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	a, fault := c.at.recipientsOf(arn)
	if fault != nil {
		return nil, fault
	}
	if fault := checkIDs(in.PublishBatchRequestEntries); fault != nil {
		return nil, fault
	}
	messages, fault := a.acceptBatch(in.PublishBatchRequestEntries)
	if fault != nil {
		return nil, fault
	}
	out := &PublishBatchOutput{Successful: []PublishBatchResult{}, Failed: []BatchFailure{}}
	for i, m := range messages {
		id := in.PublishBatchRequestEntries[i].ID
		if fault := c.EntryFault(id); fault != nil {
			out.Failed = append(out.Failed,
				BatchFailure{ID: id, Code: fault.QueryCode(), Message: fault.Message, SenderFault: !fault.Fault})
			continue
		}
		m.trace = c.Trace
		if err := c.at.out.publishTo(c.ctx, a, m, c.BaseURL); err != nil {
			out.Failed = append(out.Failed, BatchFailure{ID: id, Code: "InternalError", Message: err.Error()})
			continue
		}
		out.Successful = append(out.Successful, PublishBatchResult{ID: id, MessageID: m.id, SequenceNumber: m.sequence})
	}
	return out, nil
}

// checkLength checks the number of entries, which SNS does before anything else.
func checkLength(entries []PublishBatchEntry) *wire.Error {
	if len(entries) == 0 {
		return &wire.Error{Code: "EmptyBatchRequest", Message: "The batch request doesn't contain any entries."}
	}
	if len(entries) > maxBatch {
		return &wire.Error{
			Code:    "TooManyEntriesInBatchRequest",
			Message: "The batch request contains more entries than permissible.",
		}
	}
	return nil
}

// checkIDs checks first whether the ids are distinct, and then their form.
func checkIDs(entries []PublishBatchEntry) *wire.Error {
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.ID] {
			return &wire.Error{
				Code:    "BatchEntryIdsNotDistinct",
				Message: "Two or more batch entries in the request have the same Id.",
			}
		}
		seen[e.ID] = true
	}
	for _, e := range entries {
		what := ""
		switch {
		case len(e.ID) > maxBatchID:
			what = "is too long"
		case !batchID.MatchString(e.ID):
			what = "contains an impermissible character"
		default:
			continue
		}
		return &wire.Error{
			Code:    "InvalidBatchEntryId",
			Message: fmt.Sprintf("The Id of a batch entry in the batch request %s: %s", what, e.ID),
		}
	}
	return nil
}

func (a *recipients) acceptBatch(entries []PublishBatchEntry) ([]*message, *wire.Error) {
	messages := make([]*message, len(entries))
	size := 0
	for i := range entries {
		w := &entries[i].request
		w.path = fmt.Sprintf("publishBatchRequestEntries.%d.member.", i+1)
		m, fault := w.check()
		if fault != nil {
			return nil, fault
		}
		if size += w.size(); size > a.maximumSize {
			return nil, &wire.Error{
				Code:    "BatchRequestTooLong",
				Message: "The length of all the messages put together is more than the limit.",
			}
		}
		if fault := a.finish(m, w); fault != nil {
			return nil, fault
		}
		messages[i] = m
	}
	return messages, nil
}
