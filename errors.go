package godwit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Errors to test for with errors.Is. Errors of the first group are causes of a handler's canceled context
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
	ErrUnanswered    = errors.New("the service has not answered: it may have accepted the message")
	ErrCircuitOpen   = errors.New("the service does not work: sends are paused except for single probes")
	ErrBufferFull    = errors.New("the number of open results has reached ProducerOptions.Buffer")
	ErrNoDeadLetters = engine.ErrNoDeadLetters
)

// errExpired is the reason of a dead letter whose message expired before its handler could start.
var errExpired = errors.New("the message had expired before a handler could start (Message.Expires, ConsumerOptions.MaxAge)")

// Error is an error with its operation and channel or message.
type Error struct {
	Op        string // send, provision, receive, settle, …
	Channel   string
	MessageID string // "": none, or unknown
	Err       error
}

func (e *Error) Error() string {
	message := ""
	if e.MessageID != "" {
		message = " message " + e.MessageID
	}
	return fmt.Sprintf("%s %s%s: %v", e.Op, e.Channel, message, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// checkContext returns an error for a nil context, which would panic somewhere inside.
func checkContext(ctx context.Context) error {
	if ctx == nil {
		return invalid("ctx", "nil", "pass context.Background(), or the context of the caller")
	}
	return nil
}

// wrapError makes an Error of an error of the backend, and converts the driver's errors to this package's.
func wrapError(op, channel, id string, err error) error {
	if errors.Is(err, driver.ErrClosed) {
		err = errors.Join(ErrClosed, err)
	}
	return &Error{Op: op, Channel: channel, MessageID: id, Err: err}
}

// retriedError adds how often and for how long an operation was tried.
type retriedError struct {
	tries int
	took  time.Duration
	err   error
}

func (e *retriedError) Error() string {
	return fmt.Sprintf("tried %d times in %v, last error: %v", e.tries, e.took.Round(time.Millisecond), e.err)
}

func (e *retriedError) Unwrap() error { return e.err }

// UnsentError is returned by [Producer.Close] when its context ended before the service had answered for all messages.
// The callers of their sends have errors, too, which say whether a message may have been accepted.
type UnsentError struct {
	Messages int64
	Cause    error // of the context's end
}

func (e *UnsentError) Error() string {
	return fmt.Sprintf("%d messages are not known to be sent: %v", e.Messages, e.Cause)
}

func (e *UnsentError) Unwrap() error { return e.Cause }

// SendBatchError is returned by [Producer.SendBatch] when some messages were not accepted. Errs has their errors by
// index. The other messages were accepted.
type SendBatchError struct{ Errs map[int]error }

func (e *SendBatchError) Error() string {
	return describeEntries("message", "were not accepted", e.Errs)
}

// Unwrap makes the messages' errors visible to errors.Is and errors.As.
func (e *SendBatchError) Unwrap() []error { return slices.Collect(maps.Values(e.Errs)) }

// HandleBatchError is returned by a [BatchHandler] that has handled some deliveries and not others. Errs has the errors
// of the failed deliveries by index. It must be the returned error itself, not wrapped in another error.
type HandleBatchError struct{ Errs map[int]error }

func (e *HandleBatchError) Error() string { return describeEntries("delivery", "failed", e.Errs) }

// Unwrap makes the deliveries' errors visible to errors.Is and errors.As.
func (e *HandleBatchError) Unwrap() []error { return slices.Collect(maps.Values(e.Errs)) }

// check reports what is wrong with the error for a batch of n deliveries.
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

// describeEntries says how many entries of a batch failed, with the first error.
func describeEntries(noun, failed string, errs map[int]error) string {
	if len(errs) == 0 {
		return "the error names no " + noun + " of the batch"
	}
	first := slices.Min(slices.Collect(maps.Keys(errs)))
	return fmt.Sprintf("%d of the batch %s, the first is %s [%d]: %v", len(errs), failed, noun, first, errs[first])
}

// PanicError is a handler's panic as an error, with the stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// readable returns err. If a method of err panics, as it does with a nil pointer in an error, readable returns another
// error that can be read.
func readable(err error) (out error) {
	if err == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Errorf("the handler returned an error of type %T whose methods panic (is it a nil pointer?): %w",
				err, newPanicError(p))
		}
	}()
	_ = err.Error()
	_ = markOf(err)               // calls Unwrap and As,
	_ = errors.Is(err, ErrClosed) // and Is
	return err
}

// newPanicError must be called from the deferred function that recovered v, so that the stack is the panic's.
func newPanicError(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// Permanent marks an error that a retry cannot repair: the delivery is rejected. For nil it returns nil.
func Permanent(err error) error { return marked(err, mark{kind: markPermanent}) }

// RetryAfter marks an error after which the delivery is retried in d, as long as attempts are left. If the service
// cannot keep the message for so long (SQS: 12 hours), the retry comes earlier, and the log says so. For nil it returns
// nil.
func RetryAfter(d time.Duration, err error) error {
	return marked(err, mark{kind: markRetry, after: max(d, 0)})
}

// Fatal marks an error after which the consumer cannot continue: it releases its deliveries, this one included, and Run
// returns the error. For nil it returns nil.
func Fatal(err error) error { return marked(err, mark{kind: markFatal}) }

// HoldFor marks an error that is not about the message: something that its handler needs does not work, for example a
// service that every message needs. The consumer holds the delivery, renews its lease, and handles it again in d, at
// least a second. No attempt is counted, and the policy is not asked, so an outage rejects no message, however long it
// lasts; the log and [Consumer.Health] report it. Do not use it for an error that only some messages cause, because
// these would be held without an end. For nil it returns nil.
func HoldFor(d time.Duration, err error) error {
	return marked(err, mark{kind: markHold, after: max(d, leastHold)})
}

// leastHold keeps a handler that cannot work from being called in a loop.
const leastHold = time.Second

type markKind uint8

const (
	markNone markKind = iota
	markPermanent
	markRetry
	markFatal
	markHold
)

// mark is an error with a decision. The outermost mark of a chain counts.
type mark struct {
	kind  markKind
	after time.Duration
	error // that is marked
}

func marked(err error, m mark) error {
	if err == nil {
		return nil
	}
	m.error = err
	return &m
}

func (m *mark) Unwrap() error { return m.error }

func markOf(err error) mark {
	var m *mark
	if errors.As(err, &m) {
		return *m
	}
	return mark{}
}

// invalid is the error of an option with an invalid value. It names the field and the value.
func invalid(field string, value any, why string) error {
	return fmt.Errorf("%w: %s is %v: %s", ErrInvalid, field, value, why)
}

// setDefault replaces a zero value.
func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// within returns an error with the field and the value if the value is out of its range.
func within[T cmp.Ordered](field string, v, low, high T) error {
	if v < low || v > high {
		return invalid(field, v, fmt.Sprintf("it must be between %v and %v", low, high))
	}
	return nil
}

// eachSet returns an error with the field and the index if a middleware is nil.
func eachSet[M any](field string, ms []M) error {
	for i, m := range ms {
		if reflect.ValueOf(m).IsNil() {
			return invalid(fmt.Sprintf("%s[%d]", field, i), "nil",
				"remove it, or check the function that returned it (Idempotent needs a store, Timeout a time above 0)")
		}
	}
	return nil
}

// optional returns err, or nil if the value was not set.
func optional[T comparable](v T, err error) error {
	var zero T
	if v == zero {
		return nil
	}
	return err
}
