package client

import (
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

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

// NewBatch is a batch of n entries for an operation that errors name.
func NewBatch(op string, n int) *Batch { return &Batch{op: op, answered: make([]bool, n)} }

// Accepted notes that the service has accepted an entry, and returns its place; false: no entry with this id was sent.
func (a *Batch) Accepted(id *string) (int, bool) {
	i, err := strconv.Atoi(aws.ToString(id))
	ok := err == nil && i >= 0 && i < len(a.answered) && strconv.Itoa(i) == aws.ToString(id)
	if ok {
		a.answered[i] = true
	}
	return i, ok
}

// Refused notes that the service has refused an entry, and why.
func (a *Batch) Refused(id, code, message *string, senderFault bool) {
	if i, ok := a.Accepted(id); ok {
		a.Fail(i, entryError(aws.ToString(code), aws.ToString(message), senderFault))
	}
}

// Fail sets the error of an entry.
func (a *Batch) Fail(i int, err error) {
	a.answered[i] = true
	if a.errs == nil {
		a.errs = map[int]error{}
	}
	a.errs[i] = err
}

// Err returns nil if every entry succeeded, otherwise a *driver.BatchError. An entry that the answer does not mention
// may
// have been accepted or not.
func (a *Batch) Err() error {
	for i, answered := range a.answered {
		if !answered {
			a.Fail(i, Transient(
				"%s: the answer mentions the entry neither as successful nor as failed", a.op))
		}
	}
	return BatchError(a.errs)
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
	for k, i := range which {
		if one := EntryErr(err, k); one != nil {
			errs[i] = one
		}
	}
}

// EntryErr is the error of an entry in the answer to a request; nil: there is none.
func EntryErr(err error, entry int) error {
	if err == nil { // the usual case
		return nil
	}
	if entries := (*driver.BatchError)(nil); errors.As(err, &entries) {
		return entries.Errs[entry]
	}
	return err
}

// BatchError is a *driver.BatchError with the errors of entries; nil: there are none.
func BatchError(errs map[int]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}

// entryError returns the error of a batch entry from its code and text.
func entryError(code, message string, senderFault bool) error {
	err := &smithy.GenericAPIError{Code: code, Message: message, Fault: smithy.FaultServer}
	if senderFault {
		err.Fault = smithy.FaultClient
	}
	class, ok := classOfCode(code)
	switch {
	case ok:
	case senderFault:
		class = driver.Permanent
	default:
		class = driver.Transient
	}
	return lost(&driver.Error{Class: class, Err: err})
}

// lost turns an error which means that a delivery is no longer ours into driver.ErrLost.
func lost(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	var inflight *types.MessageNotInflight
	var handle *types.ReceiptHandleIsInvalid
	code := api.ErrorCode()
	text := api.ErrorMessage()
	gone := strings.HasSuffix(code, "InvalidParameterValue") &&
		(strings.Contains(text, "receipt handle has expired") ||
			strings.Contains(text, "Message does not exist or is not available"))
	if gone || errors.As(err, &inflight) || errors.As(err, &handle) ||
		strings.HasSuffix(code, "MessageNotInflight") || strings.HasSuffix(code, "ReceiptHandleIsInvalid") {
		return Permanent("%w: %w", driver.ErrLost, err)
	}
	return err
}
