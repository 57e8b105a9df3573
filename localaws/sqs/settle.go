package sqs

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
func deleteMessage(_ call, q *Queue, in *DeleteMessageInput) (*Empty, error) {
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
	entryID
	ReceiptHandle string `json:"ReceiptHandle"`
}

// DeleteMessageBatchOutput is the output of DeleteMessageBatch.
type DeleteMessageBatchOutput struct {
	Successful []entryID     `json:"Successful" query:"DeleteMessageBatchResultEntry,flat"`
	Failed     []failedEntry `json:"Failed" query:"BatchResultErrorEntry,flat"`
}

// deleteMessageBatch refuses an empty batch, more than ten entries, and ids that occur twice as a whole; everything
// else fails by entry, with status 200 (AWS's API reference).
func deleteMessageBatch(c call, q *Queue, in *DeleteMessageBatchInput) (*DeleteMessageBatchOutput, error) {
	out, err := settleEach(c, in.Entries, func(e *deleteEntry) error { return deleteOne(q, e.ReceiptHandle) })
	return (*DeleteMessageBatchOutput)(out), err
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
func changeMessageVisibility(_ call, q *Queue, in *ChangeMessageVisibilityInput) (*Empty, error) {
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
	entryID
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int32 `json:"VisibilityTimeout"`
}

// ChangeMessageVisibilityBatchOutput is the output of ChangeMessageVisibilityBatch.
type ChangeMessageVisibilityBatchOutput struct {
	Successful []entryID     `json:"Successful" query:"ChangeMessageVisibilityBatchResultEntry,flat"`
	Failed     []failedEntry `json:"Failed" query:"BatchResultErrorEntry,flat"`
}

// changeMessageVisibilityBatch refuses an empty batch, more than ten entries, and ids that occur twice as a whole;
// everything else fails by entry (AWS's API reference).
func changeMessageVisibilityBatch(c call, q *Queue, in *ChangeMessageVisibilityBatchInput) (
	*ChangeMessageVisibilityBatchOutput, error,
) {
	out, err := settleEach(c, in.Entries, func(e *changeEntry) error {
		return changeOne(q, e.ReceiptHandle, e.VisibilityTimeout)
	})
	return (*ChangeMessageVisibilityBatchOutput)(out), err
}
