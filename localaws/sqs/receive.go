package sqs

import (
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// ReceiveMessageInput is the input of ReceiveMessage.
type ReceiveMessageInput struct {
	QueueURL string `json:"QueueUrl"`
	// AttributeNames is the old name of the next parameter.
	AttributeNames              []string `json:"AttributeNames" query:"AttributeName,flat"`
	MessageSystemAttributeNames []string `json:"MessageSystemAttributeNames" query:"MessageSystemAttributeName,flat"`
	MessageAttributeNames       []string `json:"MessageAttributeNames" query:"MessageAttributeName,flat"`
	MaxNumberOfMessages         *int32   `json:"MaxNumberOfMessages"`
	VisibilityTimeout           *int32   `json:"VisibilityTimeout"`
	WaitTimeSeconds             *int32   `json:"WaitTimeSeconds"`
	ReceiveRequestAttemptID     string   `json:"ReceiveRequestAttemptId"`
}

// ReceiveMessageOutput is the output of ReceiveMessage.
type ReceiveMessageOutput struct {
	Messages []receivedMessage `json:"Messages" query:"Message,flat,json=messages"`
}

type receivedMessage struct {
	MessageID         string                    `json:"MessageId"`
	ReceiptHandle     string                    `json:"ReceiptHandle"`
	BodyMD5           string                    `json:"MD5OfBody"`
	Body              string                    `json:"Body"`
	Attributes        map[string]string         `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
	AttributesMD5     string                    `json:"MD5OfMessageAttributes"`
	MessageAttributes map[string]attributeValue `json:"MessageAttributes" query:"MessageAttribute,flat,key=Name,value=Value"`
}

// receiveMessage waits as long as the request or the queue says, and answers without the member Messages if none comes.
// On a FIFO queue the same ReceiveRequestAttemptId gets the same messages again, until one of them was deleted, changed
// or has expired (AWS's API reference; recorded on AWS).
func receiveMessage(c call, q *Queue, in *ReceiveMessageInput) (*ReceiveMessageOutput, error) {
	r, bad := receiveRequest(q, in)
	if bad != nil {
		return nil, bad
	}
	names := in.systemNames(c.Protocol)
	if bad := checkSystemNames(names); bad != nil {
		return nil, bad
	}
	r.By = receiver(c)
	got, err := q.model.Receive(c.ctx, r)
	if err != nil {
		return nil, receiveError(err, in.ReceiveRequestAttemptID)
	}
	if q.fifo && len(got) > 0 && q.journal != nil {
		// The message before may be deleted, and its deletion not kept yet: after a kill it would come behind this one.
		// While the disk takes no changes, receives go on.
		_ = q.journal.Store.Sync()
	}
	out := &ReceiveMessageOutput{}
	for i := range got {
		if out.Messages == nil {
			out.Messages = make([]receivedMessage, 0, len(got))
		}
		out.Messages = append(out.Messages, render(&got[i], names, in.MessageAttributeNames))
	}
	return out, nil
}

// systemNames returns the requested system attributes. In the query protocol the old list hides the new one; in awsJson
// the two are merged.
func (in *ReceiveMessageInput) systemNames(p wire.Protocol) []string {
	if p == wire.Query && len(in.AttributeNames) > 0 {
		return in.AttributeNames
	}
	return slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)
}

// receiver identifies the caller, for the message's history: its access key, or the account if the request is not
// signed, and its program.
func receiver(c call) string {
	who := c.Caller
	who = cmp.Or(who, c.Account)
	return strings.TrimSpace(who + " " + c.Agent)
}

func receiveRequest(q *Queue, in *ReceiveMessageInput) (queue.Receive, *wire.Error) {
	r := queue.Receive{
		Max: 1, Visibility: queue.Default, Wait: seconds(q.settings.Load().wait),
		Attempt: in.ReceiveRequestAttemptID,
	}
	if n := in.MaxNumberOfMessages; n != nil {
		if *n < 1 || *n > 10 {
			return r, invalidValue(*n, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
		}
		r.Max = int(*n)
	}
	if n := in.VisibilityTimeout; n != nil {
		if *n < 0 || *n > 43_200 {
			return r, invalidValue(*n, "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
		}
		r.Visibility = seconds(*n)
	}
	if n := in.WaitTimeSeconds; n != nil {
		if *n < 0 || *n > 20 {
			return r, invalidValue(*n, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
		}
		r.Wait = seconds(*n)
	}
	if r.Attempt != "" && !q.fifo {
		return r, invalidValue(r.Attempt, "ReceiveRequestAttemptId",
			"The request include parameter that is not valid for this queue type.")
	}
	if r.Attempt != "" && !validID(r.Attempt) {
		return r, badID(r.Attempt, "ReceiveRequestAttemptId")
	}
	return r, nil
}

func receiveError(err error, attempt string) error {
	if errors.Is(err, queue.ErrAttempt) {
		return invalidValue(attempt, "ReceiveRequestAttemptId",
			"ReceiveRequestAttemptId is not valid anymore since the receive call is not retryable.")
	}
	return modelError(err)
}

// systemNames returns the attributes that SQS itself gives a message.
func systemNames() []string {
	return []string{
		"All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
		"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
	}
}

func checkSystemNames(names []string) *wire.Error {
	for _, name := range names {
		if !slices.Contains(systemNames(), name) {
			return unknownAttribute(name)
		}
	}
	return nil
}

// render returns a message with exactly the requested attributes.
func render(r *queue.Received, system, user []string) receivedMessage {
	m := receivedMessage{
		MessageID: r.ID, ReceiptHandle: r.Handle, BodyMD5: hex.EncodeToString(r.MD5[:]), Body: r.Body,
		Attributes: systemAttributes(r, system),
	}
	if len(r.Details().Attributes) > 0 && len(user) > 0 {
		renderAttributes(&m, r, user)
	}
	return m
}

func systemAttributes(r *queue.Received, names []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	all := map[string]string{
		"SenderId":                         r.Sender,
		"SentTimestamp":                    strconv.FormatInt(r.Sent.UnixMilli(), 10),
		"ApproximateReceiveCount":          strconv.Itoa(r.Count),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(r.First.UnixMilli(), 10),
	}
	d := r.Details()
	optional := map[string]string{
		"SequenceNumber": r.Sequence, "MessageDeduplicationId": d.Dedup, "MessageGroupId": d.Group,
		"AWSTraceHeader": d.Trace, "DeadLetterQueueSourceArn": r.Source,
	}
	for name, v := range optional {
		if v != "" {
			all[name] = v
		}
	}
	if slices.Contains(names, "All") {
		return all
	}
	var some map[string]string
	for _, name := range names {
		if v, there := all[name]; there {
			if some == nil {
				some = make(map[string]string, len(names))
			}
			some[name] = v
		}
	}
	return some
}

func renderAttributes(m *receivedMessage, r *queue.Received, names []string) {
	d := r.Details()
	wanted := make(map[string]queue.Attribute, len(d.Attributes))
	for name, a := range d.Attributes {
		if slices.ContainsFunc(names, func(pattern string) bool { return asks(pattern, name) }) {
			wanted[name] = a
		}
	}
	if len(wanted) == 0 {
		return
	}
	m.AttributesMD5 = d.AttributesMD5
	if len(wanted) < len(d.Attributes) {
		m.AttributesMD5 = attributesMD5(wanted)
	}
	m.MessageAttributes = shownAttributes(wanted)
}

// asks reports whether an entry of MessageAttributeNames selects an attribute: all of them, one by its name, or those
// with a prefix before ".*". AWS also accepts "*" for all.
func asks(pattern, name string) bool {
	if pattern == "All" || pattern == "*" || pattern == ".*" || pattern == name {
		return true
	}
	prefix, ok := strings.CutSuffix(pattern, ".*")
	return ok && strings.HasPrefix(name, prefix)
}
