package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Empty is the output of actions without output.
type Empty struct{}

// DeleteMessageInput is the input of DeleteMessage.
type DeleteMessageInput struct {
	QueueURL      string `json:"QueueUrl"`
	ReceiptHandle string `json:"ReceiptHandle"`
}

// deleteMessage answers success to a superseded handle of a standard queue, and deletes nothing; only a receive that
// hides the message supersedes (recorded on AWS, 2024-05-14). An expired handle that is the latest deletes, but on FIFO
// queues (2025-03, 2025-10).
func (s *Service) deleteMessage(_ context.Context, c *wire.Call, in *DeleteMessageInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	return &Empty{}, deleteOne(q, in.ReceiptHandle)
}

func deleteOne(q *Queue, handle string) error {
	if handle == "" {
		return missing("ReceiptHandle")
	}
	return handleError(q.model.DeleteMessage(handle), handle, 0)
}

// DeleteMessageBatchInput is the input of DeleteMessageBatch.
type DeleteMessageBatchInput struct {
	QueueURL string        `json:"QueueUrl"`
	Entries  []deleteEntry `json:"Entries" query:"DeleteMessageBatchRequestEntry,flat"`
}

type deleteEntry struct {
	ID            string `json:"Id"`
	ReceiptHandle string `json:"ReceiptHandle"`
}

// DeleteMessageBatchOutput is the output of DeleteMessageBatch.
type DeleteMessageBatchOutput struct {
	Successful []doneEntry   `json:"Successful" query:"DeleteMessageBatchResultEntry,flat"`
	Failed     []failedEntry `json:"Failed" query:"BatchResultErrorEntry,flat"`
}

// doneEntry is a successful entry of a batch without further output.
type doneEntry struct {
	ID string `json:"Id"`
}

// deleteMessageBatch refuses an empty batch, more than ten entries, and ids that occur twice as a whole; everything
// else fails by entry, with status 200 (AWS's API reference).
func (s *Service) deleteMessageBatch(_ context.Context, c *wire.Call,
	in *DeleteMessageBatchInput,
) (*DeleteMessageBatchOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad == nil {
		bad = checkBatch(c, in.Entries == nil, len(in.Entries), func(i int) string { return in.Entries[i].ID })
	}
	if bad != nil {
		return nil, bad
	}
	out := &DeleteMessageBatchOutput{}
	for _, e := range in.Entries {
		if bad := c.EntryFault(e.ID); bad != nil {
			out.Failed = append(out.Failed, failed(e.ID, bad))
		} else if err := deleteOne(q, e.ReceiptHandle); err != nil {
			out.Failed = append(out.Failed, failed(e.ID, entryError(err)))
		} else {
			if out.Successful == nil {
				out.Successful = make([]doneEntry, 0, len(in.Entries))
			}
			out.Successful = append(out.Successful, doneEntry{e.ID})
		}
	}
	return out, nil
}

// ChangeMessageVisibilityInput is the input of ChangeMessageVisibility.
type ChangeMessageVisibilityInput struct {
	QueueURL          string `json:"QueueUrl"`
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int32 `json:"VisibilityTimeout"`
}

// changeMessageVisibility counts its timeout from now, and the 12 hours of a receive in all. An expired handle still
// works on a standard queue as long as no receive has superseded it (recorded on AWS, 2024-04), and not on a FIFO queue
// (2025-10).
func (s *Service) changeMessageVisibility(_ context.Context, c *wire.Call, in *ChangeMessageVisibilityInput) (*Empty,
	error,
) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	return &Empty{}, changeOne(q, in.ReceiptHandle, in.VisibilityTimeout)
}

func changeOne(q *Queue, handle string, timeout *int32) error {
	if handle == "" {
		return missing("ReceiptHandle")
	}
	if timeout == nil {
		return missing("VisibilityTimeout")
	}
	if *timeout < 0 || *timeout > 43_200 {
		return invalidValue(*timeout, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200")
	}
	return handleError(q.model.ChangeVisibility(handle, seconds(*timeout)), handle, *timeout)
}

// ChangeMessageVisibilityBatchInput is the input of ChangeMessageVisibilityBatch.
type ChangeMessageVisibilityBatchInput struct {
	QueueURL string        `json:"QueueUrl"`
	Entries  []changeEntry `json:"Entries" query:"ChangeMessageVisibilityBatchRequestEntry,flat"`
}

type changeEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int32 `json:"VisibilityTimeout"`
}

// ChangeMessageVisibilityBatchOutput is the output of ChangeMessageVisibilityBatch.
type ChangeMessageVisibilityBatchOutput struct {
	Successful []doneEntry   `json:"Successful" query:"ChangeMessageVisibilityBatchResultEntry,flat"`
	Failed     []failedEntry `json:"Failed" query:"BatchResultErrorEntry,flat"`
}

// changeMessageVisibilityBatch refuses an empty batch, more than ten entries, and ids that occur twice as a whole;
// everything else fails by entry (AWS's API reference).
func (s *Service) changeMessageVisibilityBatch(_ context.Context, c *wire.Call,
	in *ChangeMessageVisibilityBatchInput,
) (*ChangeMessageVisibilityBatchOutput, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad == nil {
		bad = checkBatch(c, in.Entries == nil, len(in.Entries), func(i int) string { return in.Entries[i].ID })
	}
	if bad != nil {
		return nil, bad
	}
	out := &ChangeMessageVisibilityBatchOutput{}
	for _, e := range in.Entries {
		if bad := c.EntryFault(e.ID); bad != nil {
			out.Failed = append(out.Failed, failed(e.ID, bad))
		} else if err := changeOne(q, e.ReceiptHandle, e.VisibilityTimeout); err != nil {
			out.Failed = append(out.Failed, failed(e.ID, entryError(err)))
		} else {
			out.Successful = append(out.Successful, doneEntry{e.ID})
		}
	}
	return out, nil
}
