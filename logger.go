package godwit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

const (
	// retryLogEvery and the others bound the number of log lines for events that may happen to all messages at the
	// same time. Each line has the number of events left out.
	retryLogEvery  = 10 * time.Second
	panicLogEvery  = time.Second
	storeLogEvery  = time.Minute
	expiryLogEvery = time.Minute
)

// consumerLog writes the log lines of a consumer. Messages are identified by their id; bodies, values of headers and
// receipt handles are never written.
type consumerLog struct {
	*slog.Logger
	retries, panics, stores, holds, undeleted, expiries sampler
	discards                                            discardLog
}

func newConsumerLog(to *slog.Logger, channel string) *consumerLog {
	return &consumerLog{Logger: guardedLogger(to).With("channel", channel)}
}

// guardedLogger returns the logger to write to: for nil the default one, from warnings up.
func guardedLogger(to *slog.Logger) *slog.Logger {
	if to == nil {
		return slog.New(logHandler{slog.Default().Handler(), slog.LevelWarn})
	}
	return slog.New(logHandler{to.Handler(), minLevel})
}

func (l *consumerLog) state(from, to State) {
	level := slog.LevelInfo
	if from >= StateListening && to < StateExiting { // a quiet channel would log it for each message
		level = slog.LevelDebug
	}
	l.Log(context.Background(), level, "the consumer changed its state", "from", from.String(), "to", to.String())
}

// waitCut logs once that polls wait for a shorter time than asked for, and the number of requests that this costs.
func (l *consumerLog) waitCut(o *ConsumerOptions, asked time.Duration) {
	setDefault(&asked, defaultWait)
	if o.WaitTime >= asked || asked < 0 {
		return
	}
	every := max(o.WaitTime, engine.EmptyPollEvery)
	l.Info("polls wait for a shorter time, so that a stop can wait for them and leases can be renewed", "WaitTime",
		max(o.WaitTime, 0), "asked", asked, "ShutdownTimeout", o.ShutdownTimeout, "polls_a_minute",
		int(time.Minute/every))
}

// deliveryKey is the key of a delivery in the context of a log line.
type deliveryKey struct{}

// about is the context of a log line about a delivery.
func about(d *Delivery) context.Context {
	return context.WithValue(context.Background(), deliveryKey{}, d)
}

// DeliveryOf returns the delivery that a consumer's log line is about, for a [slog.Handler] that gets the line's
// context. nil: it is about none.
func DeliveryOf(ctx context.Context) *Delivery {
	d, _ := ctx.Value(deliveryKey{}).(*Delivery)
	return d
}

func (l *consumerLog) retried(d *Delivery, v *engine.Verdict, err error) {
	if v.Asked > 0 {
		l.WarnContext(about(d), "a retry was asked for later than the service can keep a message; it comes earlier",
			"id", d.ID, "asked", v.Asked, "after", v.After)
	}
	if leftOut, ok := l.retries.take(time.Now(), retryLogEvery); ok {
		l.WarnContext(about(d), "a handler failed; its message will be retried", "id", d.ID, "attempt", d.Attempt,
			"after", v.After, "error", err, "left_out", leftOut)
	}
}

// storeFailed logs that a body could not be read, and that its delivery is not rejected for it.
func (l *consumerLog) storeFailed(err error) {
	if leftOut, ok := l.stores.take(time.Now(), storeLogEvery); ok {
		l.Warn("the body of a message could not be read from the store; it will be tried again", "error", err, "left_out",
			leftOut)
	}
}

// held logs that a handler cannot work, and that its delivery is not rejected for it.
func (l *consumerLog) held(err error) {
	if leftOut, ok := l.holds.take(time.Now(), storeLogEvery); ok {
		l.Warn("a handler cannot work now; its message is held and will be tried again", "error", err, "left_out", leftOut)
	}
}

// panicked logs err if it is a panic.
func (l *consumerLog) panicked(d *Delivery, err error) {
	var p *PanicError
	if !errors.As(err, &p) {
		return
	}
	if leftOut, ok := l.panics.take(time.Now(), panicLogEvery); ok {
		l.ErrorContext(about(d), "a handler panicked", "id", d.ID, "attempt", d.Attempt, "error", p,
			"stack", string(p.Stack), "left_out", leftOut)
	}
}

// fault logs an internal panic.
func (l *consumerLog) fault(err error) {
	var p *PanicError
	if errors.As(err, &p) {
		l.Error("internal panic", "error", err, "stack", string(p.Stack))
	}
}

// sampler lets one event in a while pass, and counts the others.
type sampler struct {
	mu      sync.Mutex
	next    time.Time
	leftOut int
}

// take reports whether an event passes, and how many events before it did not.
func (s *sampler) take(now time.Time, every time.Duration) (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.leftOut++
		return 0, false
	}
	leftOut, s.leftOut, s.next = s.leftOut, 0, now.Add(every)
	return leftOut, true
}

// minLevel is below all levels, so that the caller's own handler decides.
const minLevel = slog.Level(-1 << 31)

// logHandler is a caller's handler with a minimum level. A panic in the handler does not end the process.
type logHandler struct {
	slog.Handler
	least slog.Level
}

func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.least && h.Handler.Enabled(ctx, level)
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	defer func() { _ = recover() }() // there is nowhere to log that the logger does not work
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(as), h.least}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), h.least}
}

// discardEvery is how often the log reports discarded messages of one reason.
const discardEvery = time.Minute

// discardLog counts discarded messages that the log has not reported, by reason.
type discardLog struct {
	mu sync.Mutex
	by [2]discardSum
}

type discardSum struct {
	next  time.Time // when the log may report again
	count int
	level slog.Level
	id    string // the id of one of them; "": unknown
}

// discarded counts discarded messages, and logs them: at once for the first one, then once a minute with the sum.
func (l *consumerLog) discarded(d Discarded) {
	l.discards.add(d)
	l.reportDiscarded(time.Now())
}

// reportDiscarded logs the sums that are due.
func (l *consumerLog) reportDiscarded(now time.Time) {
	texts := [...]string{
		DiscardFiltered: "messages were discarded: the consumer's filter does not select them",
		DiscardFinished: "messages were discarded: they had been handled before",
	}
	for why, text := range texts {
		if sum := l.discards.take(DiscardReason(why), now); sum.count > 0 {
			l.Log(context.Background(), sum.level, text, "count", sum.count, "one", sum.id)
		}
	}
}

func (l *discardLog) add(d Discarded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := &l.by[d.Reason]
	sum.count += d.Count
	sum.level = slog.LevelWarn
	if d.Expected {
		sum.level = slog.LevelDebug
	}
	if len(d.IDs) > 0 {
		sum.id = d.IDs[0]
	}
}

// take returns the sum that the log reports now; its count is 0 if there is nothing to report.
func (l *discardLog) take(why DiscardReason, now time.Time) discardSum {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.by[why]
	if sum.count == 0 || now.Before(sum.next) {
		return discardSum{}
	}
	l.by[why] = discardSum{next: now.Add(discardEvery)}
	return sum
}
