package snssqs

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// answers reconciles the answer to a batch with what was sent: every entry must be mentioned.
type answers struct {
	op   string
	seen []bool
	errs map[int]error
}

func newAnswers(op string, n int) *answers { return &answers{op: op, seen: make([]bool, n)} }

// addressed says whether a message can be named to SQS. One that came without a receipt handle fails here and alone: in
// a request it would fail all the others.
func (a *answers) addressed(i int, m *message) bool {
	if deref(m.ReceiptHandle) != "" {
		return true
	}
	a.failed(entryID(i),
		permanent("%s message %s: the service gave no receipt handle for it, so it comes again when its "+
			"lease ends", a.op, deref(m.MessageId)))
	return false
}

func (a *answers) successful(id *string) {
	if i, ok := a.index(id); ok {
		a.seen[i] = true
	}
}

func (a *answers) failed(id *string, err error) {
	i, ok := a.index(id)
	if !ok {
		return
	}
	a.seen[i] = true
	if a.errs == nil {
		a.errs = map[int]error{}
	}
	a.errs[i] = err
}

func (a *answers) failedAll(entries []types.BatchResultErrorEntry) {
	for _, f := range entries {
		a.failed(f.Id, entryError(deref(f.Code), deref(f.Message), f.SenderFault))
	}
}

// index is the entry an answer speaks of; an id that we did not send belongs to none.
func (a *answers) index(id *string) (int, bool) {
	i, err := strconv.Atoi(deref(id))
	return i, err == nil && i >= 0 && i < len(a.seen) && strconv.Itoa(i) == deref(id)
}

// err is nil when every entry succeeded, else a *driver.BatchError.
func (a *answers) err() error {
	for i, seen := range a.seen {
		if !seen {
			a.failed(entryID(i), unanswered(a.op))
		}
	}
	if len(a.errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: a.errs}
}
