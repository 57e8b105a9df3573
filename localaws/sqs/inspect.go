package sqs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Inspection returns a service whose ReceiveMessage lists messages and receives none, as LocalStack has it under
// /_aws/sqs/messages. It lists the first thousand. where is as in [Wire].
func Inspection(where func(*wire.Call) (*Service, error)) *wire.Service {
	w := Wire(where)
	w.PathMember, w.AnyPath = "", nil
	w.Actions = []wire.Action{inPlace(where, "ReceiveMessage", listMessages)}
	return w
}

// listMessagesInput is the input of an inspection. The parameters of a receive are accepted, so that unmodified clients
// can send it, and have no effect.
type listMessagesInput struct {
	ReceiveMessageInput
	// ShowInvisible and ShowDelayed are true or 1 to list also messages that a receive would not get.
	ShowInvisible string `json:"ShowInvisible"`
	ShowDelayed   string `json:"ShowDelayed"`
}

const (
	// maxInspected bounds an answer.
	maxInspected = 1000
	// noHandle stands where clients expect a receipt handle. It is LocalStack's, and no call accepts it.
	noHandle = "SQS/BACKDOOR/ACCESS"
)

// listMessages is no action of AWS: it is the inspection that tools for LocalStack make, with the form of a receive and
// without its effects.
func listMessages(c call, in *listMessagesInput) (*ReceiveMessageOutput, error) {
	q := c.at.Queue(in.QueueURL)
	if in.QueueURL == "" || q == nil {
		return nil, noQueue()
	}
	locked := map[string]bool{}
	for _, l := range q.model.Locks() {
		locked[l.Group] = true
	}
	invisible, delayed := isSet(in.ShowInvisible), isSet(in.ShowDelayed)
	out := &ReceiveMessageOutput{}
	for after := int64(0); ; {
		views, last, err := q.model.MessagesAfter(after, maxInspected)
		if err != nil {
			return nil, err
		}
		for i := range views {
			v := &views[i]
			hidden := v.State == queue.InFlight || q.fifo && v.State == queue.Visible && locked[v.Details().Group]
			if hidden && !invisible || v.State == queue.Delayed && !delayed {
				continue
			}
			m := inspected(v)
			if invisible {
				m.Attributes["IsVisible"] = strconv.FormatBool(!hidden && v.State == queue.Visible)
			}
			if delayed {
				m.Attributes["IsDelayed"] = strconv.FormatBool(v.State == queue.Delayed)
			}
			if out.Messages = append(out.Messages, m); len(out.Messages) == maxInspected {
				return out, nil
			}
		}
		if after = last; last == 0 {
			return out, nil
		}
	}
}

func isSet(text string) bool { return slices.Contains([]string{"true", "1"}, strings.ToLower(text)) }

// inspected returns a message as a receive would, with everything that it has.
func inspected(v *queue.View) receivedMessage {
	r := queue.Received{
		Message: v.Message, Handle: noHandle, Count: v.Count, Sent: v.Sent, Sequence: v.Sequence, Source: v.Source,
	}
	m := render(&r, []string{"All"}, []string{"All"})
	if len(v.Receives) == 0 {
		delete(m.Attributes, "ApproximateFirstReceiveTimestamp")
	} else {
		m.Attributes["ApproximateFirstReceiveTimestamp"] = strconv.FormatInt(v.Receives[0].At.UnixMilli(), 10)
	}
	return m
}
