package client

import (
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

const (
	// MaxBatch is the most entries that SQS and SNS accept in one request.
	MaxBatch = 10
	// MaxBytes is the size that SQS accepts for a message, and for a batch, unless the queue's attribute is
	// smaller.
	MaxBytes = 1 << 20
)

// Batch matches the answer to a batch request with the batch: the answer must mention every entry.
type Batch struct {
	op       string
	answered []bool
	errs     map[int]error
}

func NewBatch(op string, n int) *Batch { return &Batch{op: op, answered: make([]bool, n)} }

func (a *Batch) Successful(id *string) {
	if i, ok := a.Index(id); ok {
		a.answered[i] = true
	}
}

func (a *Batch) Failed(id *string, err error) {
	i, ok := a.Index(id)
	if !ok {
		return
	}
	a.answered[i] = true
	if a.errs == nil {
		a.errs = map[int]error{}
	}
	a.errs[i] = err
}

func (a *Batch) FailedAll(entries []types.BatchResultErrorEntry) {
	for _, f := range entries {
		a.Failed(f.Id, EntryError(aws.ToString(f.Code), aws.ToString(f.Message), f.SenderFault))
	}
}

// Index returns the entry that a part of the answer belongs to. An id that we did not send belongs to none.
func (a *Batch) Index(id *string) (int, bool) {
	i, err := strconv.Atoi(aws.ToString(id))
	return i, err == nil && i >= 0 && i < len(a.answered) && strconv.Itoa(i) == aws.ToString(id)
}

// Err returns nil if every entry succeeded, otherwise a *driver.BatchError.
func (a *Batch) Err() error {
	for i, answered := range a.answered {
		if !answered {
			a.Failed(EntryID(i), unanswered(a.op))
		}
	}
	if len(a.errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: a.errs}
}

// entryIDs are the ids of a batch's entries, shared by all requests: the SDK only reads them.
var entryIDs = [MaxBatch]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// EntryID is the id of entry i of a batch.
func EntryID(i int) *string {
	if i < len(entryIDs) {
		return &entryIDs[i]
	}
	id := strconv.Itoa(i)
	return &id
}

// Collect assigns the answer to a request to the entries of the request.
func Collect(errs map[int]error, which []int, err error) {
	if err == nil {
		return
	}
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for k, i := range which {
		switch {
		case !partial:
			errs[i] = err
		case entries.Errs[k] != nil:
			errs[i] = entries.Errs[k]
		}
	}
}

func BatchError(errs map[int]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}
