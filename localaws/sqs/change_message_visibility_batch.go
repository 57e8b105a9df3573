package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

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
