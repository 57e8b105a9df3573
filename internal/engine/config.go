package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// Config is the configuration of a session, made by its consumer.
type Config struct {
	Backend  driver.Backend
	Channel  driver.Channel
	Receiver driver.ReceiverOptions // without Events, which the session sets
	// Open opens the receiver; nil: the backend's Receiver does.
	Open func(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error)

	Concurrency       int // handlers at the same time
	MaxConcurrency    int // how far the pool may grow; 0: it does not grow
	BatchSize         int // messages of one receive; 0: as many as the service allows
	MaxPerTenant      int // deliveries of one tenant at the same time; 0: no limit
	BreakAfter        int // handlers that must fail in a row until receiving stops; 0: never
	MaxAbandoned      int // handlers that may ignore the end of their context
	Delay             time.Duration
	DelayTolerance    time.Duration
	ProcessingTimeout time.Duration
	ShutdownTimeout   time.Duration
	SettleLinger      time.Duration // how long the settlement of a handled message may wait for others
	SaveRequests      bool          // pauses between polls, so that each returns more messages
	NoDeadLetters     bool          // messages cannot be rejected
	TellEnded         bool          // the observer needs the end of each handler
	TellOwners        bool          // the observer needs the owners of the items of each poll and settlement

	Weight, Priority int // in the fleet

	// Rates returns how many items may start in a time, in total and of each tenant. It is called once, with the
	// fleet's lock held; [Session.SetRates] changes the rates. nil: no limit.
	Rates func() (all, tenant Rate)
	// Own makes the application's deliveries for received items, and stores them as their Owner.
	Own func(items []*Item, in []driver.Delivery)
	// Begin copies the attempt and failures of an item that is about to start to the application's delivery. It is
	// called with the fleet's lock held, so it must only copy.
	Begin func(it *Item)
	// Handle calls the handler of one item. HandleBatch calls that of several, and returns the errors of those that
	// failed, by their index. Without both, the items are for the caller of [Session.Next]. Both store verdicts by
	// methods of the deliveries in chosen, also if the handler ends its goroutine.
	Handle      func(ctx context.Context, it *Item, chosen **Verdict) error
	HandleBatch func(ctx context.Context, its []*Item, chosen []*Verdict) map[int]error
	MaxBatch    int           // items in a batch
	Window      time.Duration // how long a batch that is not full waits for more

	// Choice returns what a handler that has not returned has chosen by a method of its delivery, and lets it choose no
	// more; nil: nothing. It is called with the fleet's lock held.
	Choice func(it *Item) *Verdict
	// Again makes another Owner for an item that is handled again while a handler that does not return has the first.
	// It is called with the fleet's lock held.
	Again func(it *Item) any

	Judge func(it *Item, err error) Verdict              // the policy, for an error that counts as a failure
	Busy  func(err error) (wait time.Duration, yes bool) // whether a handler could not begin its work
	// whether an error may be caused by a dependency of the handlers
	Blame func(err error) bool
	Death func(it *Item, reason error) *driver.Death // the reason of a dead letter
	Error func(op, id string, err error) error       // wraps an error for the application
	Panic func(v any) error                          // makes an error of a panic; called while it is recovered

	// Provision creates again what the service reports as missing; nil: that is not allowed.
	Provision func(ctx context.Context) error
	// Observe makes the observer of the session.
	Observe func(s *Session) Observer
	Calls   *calls.Log   // results of calls to the service
	Log     *slog.Logger // gets what a person on call needs, and no observer
}

// Observer is called when something happens. Several goroutines may call its methods at the same time, never with a
// lock held. Methods get the Owner of an item if the item itself may have been reused by then. They must not panic; a
// panic of an application's function goes to [Session.Fault].
type Observer interface {
	Doing(a Activity)
	Received(it *Item)
	Started(it *Item) // in the worker's goroutine, before the handler
	Ended(owner any, v Verdict, err error, took time.Duration)
	Failed(it *Item, err error, v Verdict) // the handler failed, and v is the policy's verdict
	Rejected(owner any, death *driver.Death, reason error)
	TimedOut(owner any)
	Abandoned(owner any, stack []byte)
	LeaseLost(owner any)
	Released(owner any)
	SettleFailed(owner any, action driver.Action, err error)
	// Discarded: the backend has finished messages that no handler gets or, with d.Err, could not finish them.
	Discarded(d driver.Discarded)
	// Expired: an item with a Verdict.Expired.
	Expired(owner any)
	Unopened(n int)
	Breaker(open bool, err error)
	Resized(from, to int)
	ReceiveFailed(doing string, err error, wait time.Duration)
	Polled(p Poll)
	Settled(s Settling)
	Renewed(r Renewal)
	Faulted(err error) // the engine, or a function of the application that it called, panicked
}

// Activity is what a polling session is doing.
type Activity uint8

// The activities of a session.
const (
	ActivityListening  Activity = iota // it polls and has no deliveries
	ActivityProcessing                 // at least one handler runs
	ActivityIdle                       // the last poll returned nothing
	ActivityPaused                     // it is paused, here or at the service, and no handler runs
)

// Action is the kind of a Verdict.
type Action uint8

// The actions of a Verdict. The first five are those of the application, in its order.
const (
	ActionDone    Action = iota // it was handled
	ActionRetry                 // it is delivered again after Verdict.After
	ActionReject                // it is moved to the dead letters
	ActionDrop                  // it is deleted without a dead letter
	ActionStop                  // it is released, and the session ends with Verdict.Reason
	ActionRelease               // it is released, and no attempt is counted
	ActionHold                  // it is held for Verdict.After and starts again; no attempt is counted
)

// Verdict is the decision about an item.
type Verdict struct {
	Action Action
	After  time.Duration
	Asked  time.Duration // what After was before it was shortened to what the service keeps; 0: it was not
	Reason error
	// Expired: the action is Drop or Reject because the message has expired, or would have before its retry.
	Expired bool
	Failed  bool // a handler had it, and the verdict is instead of its retry

	death *driver.Death // of a prepared Reject
}

// Causes of a handler's canceled context, and other errors that the application exports under its own names.
var (
	ErrProcessingTimeout = errors.New("the handler exceeded the processing timeout")
	ErrLeaseLost         = errors.New("the lease was lost: another consumer may handle the message")
	ErrShutdown          = errors.New("the consumer is shutting down")
	ErrRevoked           = errors.New("the partition is assigned to another consumer")
	ErrClosed            = errors.New("closed")
	ErrSettled           = errors.New("the delivery is already settled")
	ErrAbandoned         = errors.New("too many handlers ignore the end of their context")
	ErrNoDeadLetters     = errors.New("the channel has no dead letters")
	ErrGoexit            = errors.New("the handler ended its goroutine (runtime.Goexit, as t.FailNow does) instead of returning")

	// ErrStopped is returned if a session was stopped before it could begin.
	ErrStopped = errors.New("stopped before it began")
)

// HeldTooLongError is the reason when a message is rejected although attempts are left, because its retries would block
// the messages behind it for too long.
type HeldTooLongError struct {
	Limit time.Duration
	Err   error // of the last attempt; nil: none
}

func (e *HeldTooLongError) Error() string {
	return withCause(fmt.Sprintf("retries would block the messages behind it for longer than %v", e.Limit), e.Err)
}

// Unwrap returns the error of the last attempt.
func (e *HeldTooLongError) Unwrap() error { return e.Err }

// ReceivedTooOftenError is the reason when a message is rejected because its release or retry would make the service
// move it to the dead letters.
type ReceivedTooOftenError struct {
	Received, Limit int
	What            string // what would have been done with it
	Err             error  // of the last attempt; nil: none
}

func (e *ReceivedTooOftenError) Error() string {
	return withCause(fmt.Sprintf("it was received %d times, and the queue moves it to the dead letters after %d (maxReceiveCount), so it was rejected instead of %s",
		e.Received, e.Limit, e.What), e.Err)
}

// Unwrap returns the error of the last attempt.
func (e *ReceivedTooOftenError) Unwrap() error { return e.Err }

func withCause(text string, err error) string {
	if err == nil {
		return text
	}
	return fmt.Sprintf("%s: %v", text, err)
}
