package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// logOf is a backend of one partition that delivers each record once and keeps what it has delivered, like a log.
type logOf struct {
	lim    driver.ReceiveLimits
	source *driver.Source
	events driver.Events
	wait   time.Duration // of a poll
	feed   chan []driver.Delivery

	late func() // called when records have been taken and have not arrived yet; nil: not called

	mu      sync.Mutex
	settled []string // "seq action", in order
	started []string // "seq attempt"
}

func newLog(lim driver.ReceiveLimits) *logOf {
	lim.Keeps, lim.Batch = true, 100
	if lim.Window == 0 {
		lim.Window = 1000
	}
	return &logOf{lim: lim, source: &driver.Source{Name: "p0"}, feed: make(chan []driver.Delivery, 10)}
}

func (l *logOf) Sender(context.Context, driver.Channel) (driver.Sender, error) {
	return nil, driver.ErrClosed
}

func (l *logOf) Receiver(_ context.Context, _ driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
	l.events, l.wait = o.Events, o.Wait
	return l, nil
}
func (l *logOf) Close(context.Context) error  { return nil }
func (l *logOf) Limits() driver.ReceiveLimits { return l.lim }

func (l *logOf) Receive(ctx context.Context, _ driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	select {
	case ds := <-l.feed:
		if l.late != nil {
			l.late()
		}
		return append(into, ds...), nil
	case <-time.After(l.wait): // otherwise the watchdog ends the poll, and the next one waits
		return into, nil
	case <-ctx.Done():
		return into, nil
	}
}

func (l *logOf) Settle(_ context.Context, ss []driver.Settlement) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range ss {
		what := fmt.Sprintf("%d %v", s.Handle.Seq, s.Action)
		if s.Action == driver.Retry {
			what += fmt.Sprintf(" %v attempt %d", s.After, s.Attempt)
		}
		if s.Death != nil {
			what += " " + s.Death.Kind
		}
		l.settled = append(l.settled, what)
	}
	return nil
}

func (l *logOf) Started(h driver.Handle, attempt int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, fmt.Sprintf("%d attempt %d", h.Seq, attempt))
}

// put appends records with these keys. The body of a record is its number.
func (l *logOf) put(from int, keys ...string) {
	var ds []driver.Delivery
	for i, key := range keys {
		seq := uint64(from + i)
		ds = append(ds, driver.Delivery{
			ID: fmt.Sprint(seq), OrderKey: key, Body: fmt.Append(nil, seq),
			Source: l.source, Handle: driver.Handle{Seq: seq},
		})
	}
	l.feed <- ds
}

func (l *logOf) answers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.settled)
}

// onLog runs a consumer on a log in a bubble. The consumer stops when body returns.
func onLog(t *testing.T, l *logOf, o *godwit.ConsumerOptions, h godwit.Handler, body func(c *godwit.Consumer)) {
	t.Helper()
	whileRunning(t, l, o, func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error) { return c.Run(ctx, h) },
		body)
}

// whileRunning is onLog with any way to run the consumer.
func whileRunning(t *testing.T, l *logOf, o *godwit.ConsumerOptions,
	run func(context.Context, *godwit.Consumer) (godwit.Report, error), body func(c *godwit.Consumer),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l.feed = make(chan []driver.Delivery, 10)
		c, err := godwit.NewConsumer(t.Context(), l, "orders", o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			r, err := run(ctx, c)
			if r.Leaked != 0 {
				t.Error("the report counts leaked deliveries")
			}
			ended <- err
		}()
		synctest.Wait()
		body(c)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// rest lets virtual time pass until everything is settled.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func want(t *testing.T, l *logOf, answers ...string) {
	t.Helper()
	if got := l.answers(); !slices.Equal(got, answers) {
		t.Errorf("settled:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(answers, "\n"))
	}
}

// During a pause on a log, the consumer keeps its deliveries, continues with them afterwards, and settles nothing
// meanwhile.
func TestPauseOnALog(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	busy := make(chan struct{})
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 1}, func(context.Context, *godwit.Delivery) error {
		<-busy
		return nil
	}, func(c *godwit.Consumer) {
		busy = make(chan struct{})
		l.put(0, "a", "b", "a")
		synctest.Wait()
		c.Pause()
		close(busy)
		rest(time.Minute)
		want(t, l, "0 done")
		c.Resume()
		rest(time.Second) // a settlement waits a few milliseconds for others
		want(t, l, "0 done", "1 done", "2 done")
	})
}

// A released delivery is delivered again, in its place in the lane, and without another attempt.
func TestReleaseOnALog(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	var seen []string
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 1}, func(_ context.Context, d *godwit.Delivery) error {
		seen = append(seen, fmt.Sprintf("%s attempt %d", d.Body, d.Attempt))
		if len(seen) == 1 {
			return d.Release()
		}
		return nil
	}, func(*godwit.Consumer) {
		l.put(0, "a", "a")
		rest(time.Minute)
		if w := []string{"0 attempt 1", "0 attempt 1", "1 attempt 1"}; !slices.Equal(seen, w) {
			t.Errorf("seen %v, want %v", seen, w)
		}
		want(t, l, "0 done", "1 done")
	})
}

// A held retry is reported to the log, and rejected when it has blocked its key for too long.
func TestRetriesThatBlockForTooLong(t *testing.T) {
	l := newLog(driver.ReceiveLimits{HoldMax: time.Minute})
	onLog(t, l, &godwit.ConsumerOptions{MaxAttempts: 100, Backoff: godwit.Constant(25 * time.Second)},
		func(_ context.Context, d *godwit.Delivery) error {
			if d.ID == "0" {
				return errors.New("no")
			}
			return nil
		}, func(*godwit.Consumer) {
			l.put(0, "a", "a", "b")
			rest(10 * time.Minute)
			want(t, l, "2 done", "0 reject blocked", "1 done")
			if w := []string{"0 attempt 1", "0 attempt 2"}; !slices.Equal(l.started, w) {
				t.Errorf("attempts reported: %v, want %v", l.started, w)
			}
		})
}

// If the records behind a retry follow it, they are moved to the same tier in order, and no attempts are counted.
func TestWhatFollowsARetry(t *testing.T) {
	l := newLog(driver.ReceiveLimits{RetryMin: time.Second, RetryMax: time.Hour, Behind: driver.BehindFollows})
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 1, Backoff: godwit.Constant(time.Minute)},
		func(_ context.Context, d *godwit.Delivery) error {
			if d.ID == "0" {
				return errors.New("no")
			}
			return nil
		}, func(*godwit.Consumer) {
			l.put(0, "a", "b", "a", "a")
			rest(time.Hour)
			want(t, l, "0 retry 1m0s attempt 1", "2 retry 1m0s attempt 0", "3 retry 1m0s attempt 0", "1 done")
		})
}

// If order is not kept across a retry, the records behind it are handled.
func TestWhatGoesOnBehindARetry(t *testing.T) {
	l := newLog(driver.ReceiveLimits{RetryMin: time.Second, RetryMax: time.Hour, Behind: driver.BehindGoesOn})
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 1, Backoff: godwit.Constant(time.Minute)},
		func(_ context.Context, d *godwit.Delivery) error {
			if d.ID == "0" {
				return errors.New("no")
			}
			return nil
		}, func(*godwit.Consumer) {
			l.put(0, "a", "a")
			rest(time.Hour)
			want(t, l, "0 retry 1m0s attempt 1", "1 done")
		})
}

// A revocation lets a running handler finish until its time is nearly over, and then cancels it. Waiting deliveries are
// dropped and their places are free, also those of held retries. Only finished deliveries are settled.
func TestRevokedPartition(t *testing.T) {
	l := newLog(driver.ReceiveLimits{Window: 100}) // a poll needs all places
	var cause error
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 2, Backoff: godwit.Constant(5 * time.Minute)},
		func(ctx context.Context, d *godwit.Delivery) error {
			switch d.ID {
			case "0":
				return errors.New("no")
			case "1":
				<-ctx.Done()
				cause = context.Cause(ctx)
				return ctx.Err()
			case "2":
				time.Sleep(3 * time.Second)
			}
			return nil
		}, func(*godwit.Consumer) {
			l.put(0, "a", "b", "c", "a", "b", "c", "d")
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			l.events.Revoked(ctx, []*driver.Source{l.source})
			if took := time.Since(begun); took != 8*time.Second {
				t.Errorf("the revocation took %v, want 8 s: it ends when everything started is settled", took)
			}
			want(t, l, "2 done", "1 release")
			if !errors.Is(cause, godwit.ErrRevoked) {
				t.Errorf("canceled with the cause %v", cause)
			}
			l.source = &driver.Source{Name: "p0, again"}
			l.put(100, slices.Repeat([]string{"x"}, 100)...)
			rest(time.Minute)
			if n := len(l.answers()); n != 102 {
				t.Errorf("%d settled after the next assignment, want 102: places were not returned", n)
			}
		})
}

// A goroutine that a handler has left running sees the context of its own attempt end, and not that of the next
// attempt.
func TestEachAttemptHasItsOwnContext(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	onLog(t, l, &godwit.ConsumerOptions{Backoff: godwit.Constant(time.Second)},
		func(ctx context.Context, d *godwit.Delivery) error {
			if d.Attempt == 1 {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					<-ctx.Done()
				}()
				go func() {
					time.Sleep(500 * time.Millisecond)
					select {
					case <-ended:
					default:
						t.Error("the first attempt has returned, and its context has not ended")
					}
				}()
				return errors.New("no")
			}
			time.Sleep(time.Minute)
			return ctx.Err()
		}, func(*godwit.Consumer) {
			l.put(0, "a")
			rest(2 * time.Minute)
			want(t, l, "0 done")
		})
}

// A partition is revoked between a poll and the acceptance of its records, whether the consumer knew the source before
// or not. None of the records is handled, because the next owner handles them, and their places are free.
func TestRevokedBeforeItsRecordsArrive(t *testing.T) {
	l := newLog(driver.ReceiveLimits{Window: 100})
	handled := 0
	onLog(t, l, nil, func(context.Context, *godwit.Delivery) error {
		handled++
		return nil
	}, func(*godwit.Consumer) {
		for round := range 3 {
			if round > 0 { // after the first round the source is known
				l.put(round, "a")
				synctest.Wait()
			}
			before, source := handled, l.source
			l.late = func() { l.events.Revoked(context.Background(), []*driver.Source{source}) }
			l.put(10, slices.Repeat([]string{"x"}, 50)...)
			synctest.Wait()
			if handled != before {
				t.Errorf("round %d: %d records of a revoked partition were handled", round, handled-before)
			}
			l.late, l.source = nil, &driver.Source{Name: "p0, again"}
		}
		l.put(200, slices.Repeat([]string{"y"}, 100)...)
		rest(time.Minute)
		if handled != 102 {
			t.Errorf("%d handled, want 102: places were not returned", handled)
		}
	})
}
