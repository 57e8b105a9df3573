package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// logged collects the lines of a logger.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// count is how many lines have all of some texts.
func (l *logged) count(parts ...string) int { return len(l.lines(parts...)) }

// lines are those that have all of some texts.
func (l *logged) lines(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
lines:
	for line := range strings.Lines(l.buf.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		found = append(found, line)
	}
	return found
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// The consumer's log has what a person on call needs, and nothing of a body. Events that may happen for every message
// are sampled.
func TestTheConsumersLog(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var log logged
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxAttempts: 2, Backoff: godwit.Constant(time.Second),
			ProcessingTimeout: time.Minute,
		})
		w.send(w.producer("orders", nil), body("secret fails"), body("secret fails"), body("secret fails"),
			body("secret panics"), body("secret hangs"), body("secret is stuck"))
		gone := w.consumer("gone", &godwit.ConsumerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w.send(w.producer("gone", nil), body("secret"))
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		run := w.run(c, func(handling context.Context, d *godwit.Delivery) error {
			switch strings.TrimPrefix(string(d.Body), "secret ") {
			case "fails":
				return errors.New("no")
			case "panics":
				panic("oh")
			case "hangs":
				<-handling.Done()
				return handling.Err()
			case "is stuck":
				<-ctx.Done()
			}
			return nil
		})
		other := w.run(gone, func(handling context.Context, _ *godwit.Delivery) error {
			w.purge("gone")
			<-handling.Done()
			return handling.Err()
		})
		time.Sleep(5 * time.Minute)
		stop()
		run.stop()
		other.stop()
		for _, want := range []struct {
			n     int
			parts []string
		}{
			{1, []string{"level=WARN", "will be retried", "attempt=1", "error=no", "after=1s"}},
			{2, []string{"level=ERROR", "a handler panicked", "logger_test.go"}},
			{3, []string{"level=WARN", "a message is rejected", "kind=exhausted"}},
			{1, []string{"level=WARN", "a message is rejected", "kind=panic"}},
			{2, []string{"level=WARN", "exceeded the processing timeout", "timeout=1m0s"}},
			{1, []string{"level=ERROR", "ignores the end of its context", "logger_test.go"}},
			{1, []string{"level=INFO", "changed its state", "to=Exiting", "channel=orders"}},
			{1, []string{"level=WARN", "a lease was lost", "channel=gone"}},
			{1, []string{"will be retried"}}, // the other failures of the same moment are counted
			{0, []string{"to=Processing"}},   // a quiet channel would log it for each message
			{0, []string{"secret"}},
		} {
			if n := log.count(want.parts...); n != want.n {
				t.Errorf("%d lines with %q, want %d", n, want.parts, want.n)
			}
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// Without a logger, the default one gets warnings. A logger that panics ends nothing.
func TestTheDefaultLogger(t *testing.T) {
	var log logged
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		loud := w.consumer("panics", &godwit.ConsumerOptions{
			MaxAttempts: 1,
			Logger:      slog.New(panicHandler{slog.DiscardHandler}),
		})
		w.send(w.producer("orders", nil), body("x"))
		w.send(w.producer("panics", nil), body("x"))
		no := func(context.Context, *godwit.Delivery) error { return errors.New("no") }
		run, other := w.run(c, no), w.run(loud, no)
		time.Sleep(time.Minute)
		if r := c.Report(); r.Rejected != 1 || r.Took != time.Minute {
			t.Errorf("the report of a consumer that runs: %+v", r)
		}
		if r := other.stop(); r.Rejected != 1 {
			t.Errorf("with a logger that panics: %+v", r)
		}
		run.stop()
	})
	if log.count("level=WARN", "a message is rejected", "channel=orders") != 1 || log.count("level=INFO") != 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}

// panicHandler is a handler that panics.
type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panicHandler) Handle(context.Context, slog.Record) error { panic("cannot write") }
func (h panicHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }

// A producer's report can be read while it runs.
func TestTheProducersReport(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.send(p, many(3, "x")...)
		if err := p.Send(w.Context(), godwit.Message{Headers: large()}); err == nil {
			t.Error("headers of 2 MiB were accepted")
		}
		if r := p.Report(); r.Accepted != 3 || r.Failed != 0 || r.Retried != 0 {
			t.Errorf("%+v; want 3 accepted, and no failures", r)
		}
	})
}

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
func (l *logOf) As(driver.Handle, any) bool   { return false }
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

// A message that a backend discards is counted in the report, reported to the hook, and logged: at once for the first,
// then once a minute with the sum, and the rest at the end. If it is expected, it is logged at debug level.
func TestDiscardedMessagesAreCountedReportedAndLogged(t *testing.T) {
	for _, expected := range []bool{false, true} {
		level := map[bool]string{false: "level=WARN", true: "level=DEBUG"}[expected]
		l := newLog(driver.ReceiveLimits{})
		var log logged
		var mu sync.Mutex
		var told []godwit.Discarded
		var report godwit.Report
		o := &godwit.ConsumerOptions{
			Logger: slog.New(slog.NewTextHandler(&log,
				&slog.HandlerOptions{Level: slog.LevelDebug})),
			Hooks: godwit.Hooks{Discarded: func(d godwit.Discarded) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, d)
			}},
		}
		run := func(ctx context.Context, c *godwit.Consumer) (_ godwit.Report, err error) {
			report, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
			return report, err
		}
		said := func(reason string, counts ...int) {
			t.Helper()
			lines := log.lines(reason)
			for i, line := range lines {
				if i >= len(counts) || !strings.Contains(line, level) ||
					!strings.Contains(line, fmt.Sprintf("count=%d ", counts[i])) {
					t.Errorf("expected %v: the log says %q, want counts %v", expected, lines, counts)
				}
			}
			if len(lines) != len(counts) {
				t.Errorf("expected %v: the log says %q, want counts %v", expected, lines, counts)
			}
		}
		whileRunning(t, l, o, run, func(*godwit.Consumer) {
			discard := func(why driver.DiscardReason, n int, ids ...string) {
				l.events.Discarded(driver.Discarded{Reason: why, Count: n, IDs: ids, Expected: expected})
			}
			time.Sleep(time.Second)
			discard(driver.DiscardFiltered, 2, "a", "b")
			said("filter does not select", 2)
			for range 50 {
				time.Sleep(time.Second)
				discard(driver.DiscardFiltered, 3, "c", "d", "e")
			}
			discard(driver.DiscardFinished, 7)
			said("filter does not select", 2)
			said("had been handled", 7)
			time.Sleep(10 * time.Second)
			discard(driver.DiscardFiltered, 1, "f")
			said("filter does not select", 2, 151)
			discard(driver.DiscardFiltered, 4)
			l.put(0, "ada") // a poll with a message
			time.Sleep(time.Minute)
			l.put(1, "ada")
			time.Sleep(time.Second)
			said("filter does not select", 2, 151, 4)
			discard(driver.DiscardFiltered, 5)
		})
		said("filter does not select", 2, 151, 4, 5)
		said("had been handled", 7)
		if report.Filtered != 162 || report.Redelivered != 7 || report.Received != 2 {
			t.Errorf("expected %v: reported %+v", expected, report)
		}
		if len(told) != 55 || told[0].Reason != godwit.DiscardFiltered ||
			!slices.Equal(told[0].IDs, []string{"a", "b"}) || told[0].Expected != expected ||
			told[51].Reason != godwit.DiscardFinished || told[51].Count != 7 {
			t.Errorf("expected %v: the hook was called %d times, first with %+v", expected, len(told), told[0])
		}
	}
}

// A backlog that the filter does not select is deleted as fast as it is received.
func TestAFilteredBacklogIsDeletedWithoutPauses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("events.mine", &godwit.ConsumerOptions{Filter: godwit.Filter{Exact: []string{"A"}}})
		client, url := sqs.NewFromConfig(w.sdk()), "http://localaws.internal/000000000000/events--mine"
		for range 500 {
			if _, err := client.SendMessage(w.Context(), &sqs.SendMessageInput{
				QueueUrl:    &url,
				MessageBody: aws.String("x"),
			}); err != nil {
				t.Fatal(err)
			}
		}
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Second)
		w.visible("events--mine", 0)
		if report := r.stop(); report.Filtered != 500 {
			t.Errorf("reported %+v", report)
		}
	})
}

// Messages in an envelope that was not opened are reported to the hook.
func TestUnopenedEnvelopesAreReported(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	told := 0
	o := &godwit.ConsumerOptions{Hooks: godwit.Hooks{Unopened: func(n int) { told += n }}}
	run := func(ctx context.Context, c *godwit.Consumer) (godwit.Report, error) {
		return c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
	}
	whileRunning(t, l, o, run, func(*godwit.Consumer) {
		time.Sleep(time.Second)
		l.events.Unopened(2)
		l.events.Unopened(1)
	})
	if told != 3 {
		t.Errorf("the hook was told of %d messages", told)
	}
}
