package sqs

import (
	"encoding/hex"
	"fmt"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// SendMessageInput is the input of SendMessage.
type SendMessageInput struct {
	QueueURL string `json:"QueueUrl"`
	outgoing
}

// SendMessageOutput is the output of SendMessage.
type SendMessageOutput struct {
	BodyMD5        string `json:"MD5OfMessageBody"`
	AttributesMD5  string `json:"MD5OfMessageAttributes"`
	SystemMD5      string `json:"MD5OfMessageSystemAttributes"`
	MessageID      string `json:"MessageId"`
	SequenceNumber string `json:"SequenceNumber"`
}

// sendMessage accepts 1 MiB with attributes (recorded on AWS, 2025-08), and a group on standard queues, for fairness. A
// duplicate on a FIFO queue is answered with the first message's id and sequence number, also after that was deleted.
func sendMessage(c call, q *Queue, in *SendMessageInput) (*SendMessageOutput, error) {
	put, bad := in.message(q, origin{sender: wire.UserID, trace: c.Trace})
	if bad != nil {
		return nil, bad
	}
	accepted, err := q.model.Put(put)
	if err != nil {
		return nil, modelError(err)
	}
	return &SendMessageOutput{
		BodyMD5: hex.EncodeToString(put.Message.MD5[:]), AttributesMD5: put.Message.Details().AttributesMD5,
		SystemMD5: systemMD5(in.MessageSystemAttributes),
		MessageID: accepted[0].ID, SequenceNumber: accepted[0].Sequence,
	}, nil
}

// SendMessageBatchInput is the input of SendMessageBatch.
type SendMessageBatchInput struct {
	QueueURL string      `json:"QueueUrl"`
	Entries  []sendEntry `json:"Entries" query:"SendMessageBatchRequestEntry,flat"`
}

type sendEntry struct {
	entryID
	outgoing
}

// SendMessageBatchOutput is the output of SendMessageBatch.
type SendMessageBatchOutput struct {
	Successful []sentEntry   `json:"Successful" query:"SendMessageBatchResultEntry,flat"`
	Failed     []failedEntry `json:"Failed" query:"BatchResultErrorEntry,flat"`
}

type sentEntry struct {
	entryID
	MessageID      string `json:"MessageId"`
	BodyMD5        string `json:"MD5OfMessageBody"`
	AttributesMD5  string `json:"MD5OfMessageAttributes"`
	SystemMD5      string `json:"MD5OfMessageSystemAttributes"`
	SequenceNumber string `json:"SequenceNumber"`
}

// sendMessageBatch refuses more than 1 MiB in all, an empty batch, and ids that occur twice as a whole. What is wrong
// with one message fails its entry, but on a FIFO queue an entry without a group or without a way to recognize
// duplicates refuses the batch (recorded on AWS).
func sendMessageBatch(c call, q *Queue, in *SendMessageBatchInput) (*SendMessageBatchOutput, error) {
	bad := checkBatch(c, in.Entries)
	if bad == nil {
		bad = checkBatchSize(in.Entries)
	}
	if bad != nil {
		return nil, bad
	}
	out := &SendMessageBatchOutput{}
	good := make([]*sendEntry, 0, len(in.Entries))
	puts := make([]queue.Put, 0, len(in.Entries))
	for i := range in.Entries {
		e := &in.Entries[i]
		var put queue.Put
		bad := c.EntryFault(e.ID)
		if bad == nil {
			put, bad = e.message(q, origin{sender: wire.UserID, trace: c.Trace, batch: true})
		}
		if bad != nil && e.MessageBody == "" {
			bad = missing(fmt.Sprintf("SendMessageBatchRequestEntry.%d.MessageBody", i+1))
		}
		if bad != nil && q.fifo && wholeBatch(e, bad) {
			return nil, invalidParameter("%s", bad.Message)
		}
		if bad != nil {
			out.Failed = append(out.Failed, failed(e.entryID, bad))
			continue
		}
		good, puts = append(good, e), append(puts, put)
	}
	return out, putBatch(q, good, puts, out)
}

// wholeBatch reports whether an entry's error refuses the whole batch. On a FIFO queue, an entry without a place in the
// order does.
func wholeBatch(e *sendEntry, bad *wire.Error) bool {
	switch bad.QueryCode() {
	case "MissingParameter":
		return true
	case "InvalidParameterValue":
		return e.MessageDeduplicationID == nil || e.DelaySeconds != nil && *e.DelaySeconds != 0
	default:
		return false
	}
}

func putBatch(q *Queue, good []*sendEntry, puts []queue.Put, out *SendMessageBatchOutput) error {
	accepted, err := q.model.Put(puts...)
	if err != nil {
		return modelError(err)
	}
	if len(accepted) > 0 {
		out.Successful = make([]sentEntry, 0, len(accepted))
	}
	for i, a := range accepted {
		m := puts[i].Message
		out.Successful = append(out.Successful, sentEntry{
			entryID: good[i].entryID, MessageID: a.ID, SequenceNumber: a.Sequence,
			BodyMD5: hex.EncodeToString(m.MD5[:]), AttributesMD5: m.Details().AttributesMD5,
			SystemMD5: systemMD5(good[i].MessageSystemAttributes),
		})
	}
	return nil
}

// checkBatchSize checks the limit for all messages of a batch together, which is not the queue's MaximumMessageSize.
func checkBatchSize(entries []sendEntry) *wire.Error {
	size := 0
	for i := range entries {
		e := &entries[i]
		size += len(e.MessageBody)
		for name, v := range e.MessageAttributes {
			size += len(name) + len(v.DataType) + len(v.BinaryValue)
			if v.StringValue != nil {
				size += len(*v.StringValue)
			}
		}
	}
	if size > maxMessage {
		return refusal("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.",
			maxMessage, size)
	}
	return nil
}
