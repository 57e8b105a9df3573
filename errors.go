package godwit

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// What callers branch on with errors.Is. The first group are causes of a handler's cancelled context
// (context.Cause).
var (
	ErrProcessingTimeout = engine.ErrProcessingTimeout
	ErrLeaseLost         = engine.ErrLeaseLost
	ErrShutdown          = engine.ErrShutdown
	ErrRevoked           = engine.ErrRevoked

	ErrClosed        = engine.ErrClosed
	ErrInvalid       = errors.New("invalid")
	ErrSettled       = engine.ErrSettled
	ErrAbandoned     = engine.ErrAbandoned
	ErrUnanswered    = errors.New("the service has not answered: the message may have been accepted")
	ErrCircuitOpen   = errors.New("the service seems to be down: it is only probed")
	ErrBufferFull    = errors.New("as many results are open as ProducerOptions.Buffer allows")
	ErrNoDeadLetters = engine.ErrNoDeadLetters
)

// Error says what was being done to which channel or message when Err happened.
type Error struct {
	Op        string // send, provision, receive, settle, …
	Channel   string
	MessageID string // "": none, or not yet known
	Err       error
}

func (e *Error) Error() string {
	s := e.Op + " " + e.Channel
	if e.MessageID != "" {
		s += " message " + e.MessageID
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// wrapError makes an Error of what came from below the seam, in this package's words.
func wrapError(op, channel, id string, err error) error {
	if errors.Is(err, driver.ErrClosed) {
		err = errors.Join(ErrClosed, err)
	}
	return &Error{Op: op, Channel: channel, MessageID: id, Err: err}
}

// retriedError says how often and for how long something was tried.
type retriedError struct {
	tries int
	took  time.Duration
	err   error
}

func (e *retriedError) Error() string {
	return fmt.Sprintf("tried %d times in %v, the last time: %v", e.tries, e.took.Round(time.Millisecond), e.err)
}

func (e *retriedError) Unwrap() error { return e.err }

// SendBatchError is what [Producer.SendBatch] answers when some messages were not accepted: index → error. The others
// were accepted.
type SendBatchError struct{ Errs map[int]error }

func (e *SendBatchError) Error() string {
	return describeEntries("message", "were not accepted", e.Errs)
}

// Unwrap makes the messages' errors reachable by errors.Is and errors.As.
func (e *SendBatchError) Unwrap() []error { return slices.Collect(maps.Values(e.Errs)) }

// HandleBatchError is what a [BatchHandler] returns when it has handled some deliveries and not others: index → error of
// those that failed. It counts only as the handler's own answer, not wrapped in another error.
type HandleBatchError struct{ Errs map[int]error }

func (e *HandleBatchError) Error() string { return describeEntries("delivery", "failed", e.Errs) }

// Unwrap makes the deliveries' errors reachable by errors.Is and errors.As.
func (e *HandleBatchError) Unwrap() []error { return slices.Collect(maps.Values(e.Errs)) }

// check says what is wrong with the answer to a batch of n deliveries.
func (e *HandleBatchError) check(n int) error {
	if e == nil || len(e.Errs) == 0 {
		return errors.New("the batch handler returned a *HandleBatchError that names no delivery, so all of them count as " +
			"failed: return nil when all are handled")
	}
	for i, err := range e.Errs {
		if i < 0 || i >= n || err == nil {
			return fmt.Errorf("the batch handler returned a *HandleBatchError with the entry [%d]: %v for a batch of %d deliveries, "+
				"so all of them count as failed: name only deliveries that failed, by their index in the handler's slice", i, err, n)
		}
	}
	return nil
}

// describeEntries tells how many entries of a batch failed, and the first error.
func describeEntries(noun, failed string, errs map[int]error) string {
	if len(errs) == 0 {
		return "no " + noun + " of the batch is named"
	}
	first := slices.Min(slices.Collect(maps.Keys(errs)))
	return fmt.Sprintf("%d of the batch %s, the first is %s [%d]: %v", len(errs), failed, noun, first, errs[first])
}

// PanicError is a panic of a handler, turned into an error with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap is the panic's value, if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// readable is err, or an error that can be read where a method of err panics, as those of a nil pointer in an error do.
func readable(err error) (out error) {
	if err == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Errorf("the handler returned an error of type %T that cannot be read (is it a nil pointer?): %w", err, newPanicError(p))
		}
	}()
	_ = err.Error()
	_ = markOf(err)               // calls Unwrap and As,
	_ = errors.Is(err, ErrClosed) // and Is
	return err
}

// newPanicError is called from the deferred function that recovered v, so that the stack is the panic's.
func newPanicError(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// Permanent marks an error that repeating cannot mend: the delivery is dead-lettered at once. nil stays nil.
func Permanent(err error) error { return marked(err, mark{kind: markPermanent}) }

// RetryAfter marks an error after which the delivery should come back in d, as long as attempts are left. nil stays
// nil.
func RetryAfter(d time.Duration, err error) error {
	return marked(err, mark{kind: markRetry, after: max(d, 0)})
}

// Fatal marks an error after which the consumer cannot go on: it gives back what it holds, this delivery included,
// and its Run returns the error. nil stays nil.
func Fatal(err error) error { return marked(err, mark{kind: markFatal}) }

type markKind uint8

const (
	markPermanent markKind = iota + 1
	markRetry
	markFatal
)

// mark is an error with advice; the outermost mark of a chain counts.
type mark struct {
	kind  markKind
	after time.Duration
	err   error
}

func marked(err error, m mark) error {
	if err == nil {
		return nil
	}
	m.err = err
	return &m
}

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

func markOf(err error) mark {
	var m *mark
	if errors.As(err, &m) {
		return *m
	}
	return mark{}
}

// invalid is the error of an option that cannot be: it names the field and the value.
func invalid(field string, value any, why string) error {
	return fmt.Errorf("%w: %s is %v: %s", ErrInvalid, field, value, why)
}
