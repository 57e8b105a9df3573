package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

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
