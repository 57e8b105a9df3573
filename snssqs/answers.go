package snssqs

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// answers matches the answer to a batch request with the batch: the answer must mention every entry.
type answers struct {
	op       string
	answered []bool
	errs     map[int]error
}

func newAnswers(op string, n int) *answers { return &answers{op: op, answered: make([]bool, n)} }

// addressed reports whether a message has a receipt handle, which settling needs. A message without one fails here,
// alone; in a request it would fail all other entries.
func (a *answers) addressed(i int, m *message) bool {
	if aws.ToString(m.ReceiptHandle) != "" {
		return true
	}
	a.failed(entryID(i),
		permanent("%s message %s: the service gave no receipt handle for it, so it is delivered again when "+
			"its lease ends", a.op, aws.ToString(m.MessageId)))
	return false
}

func (a *answers) successful(id *string) {
	if i, ok := a.index(id); ok {
		a.answered[i] = true
	}
}

func (a *answers) failed(id *string, err error) {
	i, ok := a.index(id)
	if !ok {
		return
	}
	a.answered[i] = true
	if a.errs == nil {
		a.errs = map[int]error{}
	}
	a.errs[i] = err
}

func (a *answers) failedAll(entries []types.BatchResultErrorEntry) {
	for _, f := range entries {
		a.failed(f.Id, entryError(aws.ToString(f.Code), aws.ToString(f.Message), f.SenderFault))
	}
}

// index returns the entry that a part of the answer belongs to. An id that we did not send belongs to none.
func (a *answers) index(id *string) (int, bool) {
	i, err := strconv.Atoi(aws.ToString(id))
	return i, err == nil && i >= 0 && i < len(a.answered) && strconv.Itoa(i) == aws.ToString(id)
}

// err returns nil if every entry succeeded, otherwise a *driver.BatchError.
func (a *answers) err() error {
	for i, answered := range a.answered {
		if !answered {
			a.failed(entryID(i), unanswered(a.op))
		}
	}
	if len(a.errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: a.errs}
}
