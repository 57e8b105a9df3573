package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// Config is what a session needs to know of its consumer.
type Config struct {
	Backend  driver.Backend
	Channel  driver.Channel
	Receiver driver.ReceiverOptions // without Events, which the session adds

	Concurrency       int // handlers at once
	MaxConcurrency    int // how far the pool may grow; 0: not at all
	BatchSize         int // messages of one receive; 0: as many as the service gives
	MaxPerTenant      int // deliveries of one tenant at once; 0: no limit
	BreakAfter        int // handlers that must fail in a row until receiving stops; 0: it never stops
	MaxAbandoned      int // handlers that may ignore their cancelled context
	Delay             time.Duration
	DelayTolerance    time.Duration
	ProcessingTimeout time.Duration
	ShutdownTimeout   time.Duration
	SettleLinger      time.Duration // how long the verdict on what is done may wait for others
	SaveRequests      bool          // pauses between polls let each bring more
	NoDeadLetters     bool          // there is nowhere to reject to
	Paused            bool          // the session begins paused
	TellEnded         bool          // the observer wants to know of each handler's end

	Weight, Priority int // in the fleet

	// Rates say how many items may start in a while: of all, and of each tenant. It is called once, with the fleet's lock
	// held; [Session.SetRates] changes them. nil: any number.
	Rates func() (all, tenant Rate)
	// Own makes the application's side of items that were just received, and stores it as their Owner.
	Own func(items []*Item, in []driver.Delivery)
	// Begin brings the application's side up to date with an item that is about to start: its attempt, its failures. It
	// is called with the fleet's lock held, and so only copies.
	Begin func(it *Item)
	// Handle runs the handler of one item, HandleBatch that of several: it answers with the errors of those that
	// failed, by their index. With neither, the items are for the caller of [Session.Next]. Both store what a method of
	// the delivery has chosen in Item.Chosen, also when the handler ends its goroutine.
	Handle      func(ctx context.Context, it *Item) error
	HandleBatch func(ctx context.Context, its []*Item) map[int]error
	MaxBatch    int           // items in a batch
	Window      time.Duration // how long a batch that is not full waits for more

	Judge func(it *Item, err error) Verdict              // the policy, for an error that counts as a failure
	Busy  func(err error) (wait time.Duration, yes bool) // whether a handler could not begin its work
	Blame func(err error) bool                           // whether an error may be the fault of what handlers depend on
	Death func(it *Item, reason error) *driver.Death     // the reasons that travel with a dead letter
	Error func(op, id string, err error) error           // wraps an error in the application's words
	Panic func(v any) error                              // makes an error of a panic; called while it is recovered

	// Provision makes again what the service says is missing; nil: that is not allowed.
	Provision func(ctx context.Context) error
	// Observe makes the observer of the session.
	Observe func(s *Session) Observer
	Calls   *calls.Log // how calls to the service go
}

// Observer is told what happens. Its methods may be called by several goroutines at once, never with a lock held. They
// get the Owner of an item where the item itself may be used again by then. They do not panic: what a user's function
// panics with goes to [Session.Fault].
type Observer interface {
	Doing(a Activity)
	Received(it *Item)
	Started(it *Item) // in the worker's goroutine, before the handler
	Ended(owner any, v Verdict, err error, took time.Duration)
	Failed(it *Item, err error, v Verdict) // the handler failed, and v is what the policy says
	Rejected(owner any, death *driver.Death, reason error)
	TimedOut(owner any)
	Abandoned(owner any, stack []byte)
	LeaseLost(owner any)
	GivenBack(owner any)
	SettleFailed(owner any, action driver.Action, err error)
	Discarded(d driver.Discarded)
	Breaker(open bool, err error)
	Resized(from, to int)
	ReceiveFailed(doing string, err error, wait time.Duration)
	ProvisionFailed(err error, wait time.Duration)
	InspectFailed(err error)
	SourcesLost(err error)
	Polled() // a poll has been answered
	PollLeftOpen()
	Faulted(err error) // the engine's own code, or a function of the user's that it called, panicked
	Leaked(what string)
}

// Activity is what a session that polls is doing.
type Activity uint8

// The activities of a session.
const (
	ActivityListening  Activity = iota // it polls and has nothing in hand
	ActivityProcessing                 // at least one handler runs
	ActivityIdle                       // the last poll brought nothing
)

// Action is what becomes of an item.
type Action uint8

// The actions of a Verdict.
const (
	ActionDone    Action = iota // it was handled
	ActionDrop                  // it is finished unhandled
	ActionRetry                 // it comes back after Verdict.After
	ActionReject                // it goes to the dead letters
	ActionStop                  // it is given back, and the session ends with Verdict.Reason
	ActionRelease               // it is given back untouched
	ActionHold                  // it is held for Verdict.After untouched, and starts again
)

// Verdict says what becomes of an item.
type Verdict struct {
	Action Action
	After  time.Duration
	Reason error
}

// Causes of a handler's cancelled context, and other errors that the application shows under names of its own.
var (
	ErrProcessingTimeout = errors.New("the handler exceeded the processing timeout")
	ErrLeaseLost         = errors.New("the lease was lost: the message may be handled elsewhere")
	ErrShutdown          = errors.New("the consumer is shutting down")
	ErrRevoked           = errors.New("the partition goes to another consumer")
	ErrClosed            = errors.New("closed")
	ErrSettled           = errors.New("the delivery is already settled")
	ErrAbandoned         = errors.New("too many handlers ignore their cancelled context")
	ErrNoDeadLetters     = errors.New("the channel has no dead letters")
	ErrGoexit            = errors.New("the handler ended its goroutine (runtime.Goexit, as t.FailNow does) instead of returning")

	// ErrStopped is why a session has not begun that was told to stop before it could.
	ErrStopped = errors.New("told to stop before it began")
)

// HeldTooLongError says why a retry ended before its attempts did: it held up the deliveries behind it.
type HeldTooLongError struct {
	Limit time.Duration
	Err   error // of the last attempt; nil: it had none
}

func (e *HeldTooLongError) Error() string {
	return withCause(fmt.Sprintf("retries would hold up the messages behind it for longer than %v", e.Limit), e.Err)
}

// Unwrap is the error of the last attempt.
func (e *HeldTooLongError) Unwrap() error { return e.Err }

// ReceivedTooOftenError says why a delivery is rejected that would go back to a service that is about to give it up.
type ReceivedTooOftenError struct {
	Received, Limit int
	What            string // would have been done with it
	Err             error  // of the last attempt; nil: it had none
}

func (e *ReceivedTooOftenError) Error() string {
	return withCause(fmt.Sprintf("it was received %d times, and the queue gives it up after %d (maxReceiveCount), so it is not %s again",
		e.Received, e.Limit, e.What), e.Err)
}

// Unwrap is the error of the last attempt.
func (e *ReceivedTooOftenError) Unwrap() error { return e.Err }

func withCause(text string, err error) string {
	if err == nil {
		return text
	}
	return text + ": " + err.Error()
}
