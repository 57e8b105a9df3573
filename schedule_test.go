package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sns"
	model "github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// minutely has a tick each minute, whose time is the body of its message.
func minutely() godwit.Schedule {
	return godwit.Schedule{Name: "report", Cron: "* * * * *", Message: func(tick time.Time) godwit.Message {
		return godwit.Message{Body: []byte(tick.Format(time.RFC3339))}
	}}
}

// every runs a schedule until the returned function is called, which waits for its end.
func (p *process) every(channel string, ordered bool, s godwit.Schedule) (stop func()) {
	p.Helper()
	out := p.producer(channel, ordered)
	ctx, cancel := context.WithCancel(p.Context())
	done := make(chan error)
	go func() { done <- godwit.Every(ctx, out, s) }()
	return func() {
		p.Helper()
		cancel()
		if err := <-done; err != nil {
			p.Errorf("a schedule ended with %v", err)
		}
	}
}

// sends counts the requests with ticks. It fails the test for one that begins before its time, or more than four
// minutes after it, by the clock of the server.
func (w *world) sends() (count func() int) {
	var mu sync.Mutex
	n := 0
	look := func(id string) {
		_, text, _ := strings.Cut(id, "schedule/report/")
		unix, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			w.Errorf("the id for duplicates is %q", id)
		}
		late := w.server.Now().Sub(time.Unix(unix, 0))
		if late < 0 || late > 4*time.Minute+time.Second {
			w.Errorf("a tick is sent %v after its time", late)
		}
		n++
	}
	w.server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		mu.Lock()
		defer mu.Unlock()
		switch in := r.Input.(type) {
		case *model.SendMessageBatchInput:
			for _, e := range in.Entries {
				if strings.HasSuffix(in.QueueURL, ".fifo") {
					look(aws.ToString(e.MessageDeduplicationID))
				}
			}
		case *sns.PublishBatchInput:
			for _, e := range in.PublishBatchRequestEntries {
				if strings.HasSuffix(aws.ToString(in.TopicArn), ".fifo") {
					look(aws.ToString(e.MessageDeduplicationID))
				}
			}
		}
		return localaws.Outcome{}
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// ticks fails unless all ticks of some time came, each at least once, and not more than twice the given number of times
// more than once.
func (a *arrivals) ticks(t *testing.T, from, to time.Time, twice int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	more := 0
	for body, at := range a.at {
		if _, err := time.Parse(time.RFC3339, body); err != nil {
			t.Errorf("%q came", body)
		}
		more += len(at) - 1
	}
	for tick := from.Truncate(time.Minute).Add(time.Minute); !tick.After(to); tick = tick.Add(time.Minute) {
		n := len(a.at[tick.UTC().Format(time.RFC3339)])
		if n == 0 {
			t.Errorf("the tick %v did not come", tick)
		}
	}
	if more > twice {
		t.Errorf("%d ticks came more than once, want %d", more, twice)
	}
}

// Many processes have the same schedule, and are deployed. The service's clock is four minutes ahead of theirs, or the
// same. Each tick comes once.
func TestEveryOnce(t *testing.T) {
	processes := fullrun.Pick(8, 50)
	for i, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				if i%2 == 0 {
					w.server.Advance(4 * time.Minute)
				}
				random := rand.New(rand.NewPCG(44, uint64(i)))
				var a arrivals
				start := func() (stop func()) {
					p := w.apart(snssqs.Options{})
					consumed := p.consume(kind.receive, kind.ordered, a.handle)
					sent := p.every(kind.send, kind.ordered, minutely())
					return func() {
						sent()
						consumed()
					}
				}
				var stops []func()
				for range processes {
					stops = append(stops, start())
				}
				w.sends()
				time.Sleep(90 * time.Second)
				from := w.server.Now()
				for range 30 {
					time.Sleep(time.Minute)
					if k := random.IntN(len(stops)); random.IntN(3) == 0 {
						stops[k]()
						stops[k] = start()
					}
				}
				to := w.server.Now()
				time.Sleep(30 * time.Second)
				for _, stop := range stops {
					stop()
				}
				a.ticks(t, from, to, 0)
			})
		})
	}
}

// While the service answers nothing, or accepts nothing, for three minutes, no tick is lost. One that is sent again
// because of a lost answer comes twice only if that was the answer to its send to a channel without order.
func TestEveryInAnOutage(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var a arrivals
				p := w.apart(snssqs.Options{})
				defer p.consume(kind.receive, kind.ordered, a.handle)()
				for range 3 {
					defer w.apart(snssqs.Options{}).every(kind.send, kind.ordered, minutely())()
				}
				time.Sleep(5*time.Minute + 30*time.Second)
				w.sends()
				from := w.server.Now()
				for _, out := range []localaws.Outcome{
					{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded", Status: 400}},
					{Err: &wire.Error{Code: "InternalError", Message: "down", Status: 500, Fault: true}},
					{Delay: time.Minute, Drop: true},
				} {
					end := w.server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
						return out
					})
					time.Sleep(3 * time.Minute)
					end()
					time.Sleep(3 * time.Minute)
				}
				var mu sync.Mutex
				sends, twice := 0, 0
				w.server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
					repeats := 0 // messages of the channel that come twice if the answer is lost
					switch in := r.Input.(type) {
					case *model.SendMessageBatchInput:
						if !strings.HasSuffix(in.QueueURL, ".fifo") {
							repeats = len(in.Entries)
						}
					case *sns.PublishBatchInput:
						if !kind.ordered {
							repeats = len(in.PublishBatchRequestEntries)
						}
					default:
						return localaws.Outcome{}
					}
					mu.Lock()
					defer mu.Unlock()
					sends++
					if sends%2 == 1 {
						return localaws.Outcome{}
					}
					twice += repeats
					return localaws.Outcome{DropAfter: true}
				})
				time.Sleep(3 * time.Minute)
				to := w.server.Now().Add(-time.Minute)
				time.Sleep(2 * time.Minute)
				mu.Lock()
				defer mu.Unlock()
				a.ticks(t, from, to, twice)
			})
		})
	}
}

// Ticks that nobody could send in time are skipped, and the log says so.
func TestEverySkips(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		w.run(w.consumer("orders", &godwit.ConsumerOptions{Ordered: true}), a.handle)
		var log bytes.Buffer
		p := w.producer("orders", &godwit.ProducerOptions{
			Ordered: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, cancel := context.WithCancel(w.Context())
		done := make(chan error)
		go func() { done <- godwit.Every(ctx, p, minutely()) }()
		time.Sleep(5*time.Minute + 30*time.Second)
		w.sends()
		down := w.server.Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "InternalError", Message: "down", Status: 500, Fault: true}}
		})
		time.Sleep(10 * time.Minute) // from 5:30 to 15:30
		down()
		time.Sleep(5 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for minute := 6; minute <= 20; minute++ {
			n := a.times(begin.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339))
			if want := min(1, max(0, minute-11)); n != want {
				t.Errorf("the tick at minute %d came %d times, want %d", minute, n, want)
			}
		}
		if !strings.Contains(log.String(), "skipped") {
			t.Errorf("the log has nothing of it:\n%s", log.String())
		}
	})
}

// A process that is killed between the send of a tick to its channel and the delete leaves one duplicate on a channel
// without order. Another process goes on.
func TestEveryAfterAKill(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		m := &mortal{RoundTripper: w.server.Transport()}
		first := w.apart(snssqs.Options{Transport: m})
		defer first.consume("orders", false, a.handle)()
		defer first.every("orders", false, minutely())()
		second := w.apart(snssqs.Options{})
		defer second.consume("orders", false, a.handle)()
		begun := w.server.Now()
		time.Sleep(11*time.Minute + 30*time.Second)
		var once sync.Once
		w.server.Control("sqs.DeleteMessageBatch", func(_ context.Context, r *localaws.Request) (out localaws.Outcome) {
			if strings.HasSuffix(r.Input.(*model.DeleteMessageBatchInput).QueueURL, "--ticks.fifo") {
				once.Do(func() {
					out = localaws.Outcome{Drop: true}
					m.dead.Store(true)
				})
			}
			return out
		})
		defer w.apart(snssqs.Options{}).every("orders", false, minutely())()
		time.Sleep(5 * time.Minute)
		to := w.server.Now().Add(-time.Minute)
		time.Sleep(time.Minute - time.Second)
		a.ticks(t, begun, to, 2) // it may also have handled the first message, and not deleted it from the channel
	})
}

// A tick costs two or three requests of a process: for the time, and to send it.
func TestEveryRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.apart(snssqs.Options{})
		s := minutely()
		s.Cron = "0 * * * *"
		defer p.every("orders", true, s)()
		time.Sleep(time.Hour + time.Minute)
		before := w.calls("sqs.GetQueueAttributes", "sqs.SendMessageBatch")
		time.Sleep(24 * time.Hour)
		if n := w.calls("sqs.GetQueueAttributes", "sqs.SendMessageBatch") - before; n > 3*24 {
			t.Errorf("24 ticks took %d requests", n)
		}
	})
}

// A schedule that cannot work is an error before anything is sent.
func TestEveryRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		b, err := memdriver.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(w.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		with := func(f func(s *godwit.Schedule)) godwit.Schedule {
			s := minutely()
			f(&s)
			return s
		}
		message := func(m godwit.Message) godwit.Schedule {
			return with(func(s *godwit.Schedule) { s.Message = func(time.Time) godwit.Message { return m } })
		}
		interval := func(d time.Duration) godwit.Schedule {
			return with(func(s *godwit.Schedule) { s.Cron, s.Interval = "", d })
		}
		running, stop := context.WithCancel(w.Context())
		done := make(chan error)
		go func() { done <- godwit.Every(running, p, minutely()) }()
		time.Sleep(time.Minute)
		for want, s := range map[string]godwit.Schedule{
			"Schedule.Name is \"\"":    with(func(s *godwit.Schedule) { s.Name = "" }),
			"Schedule.Name is \"a b\"": with(func(s *godwit.Schedule) { s.Name = "a b" }),
			"Schedule.Message":         with(func(s *godwit.Schedule) { s.Message = nil }),
			"set one of both":          with(func(s *godwit.Schedule) { s.Cron = "" }),
			"Interval is 1m0s":         with(func(s *godwit.Schedule) { s.Interval = time.Minute }),
			"it has 3 fields":          with(func(s *godwit.Schedule) { s.Cron = "* * *" }),
			"names no time":            with(func(s *godwit.Schedule) { s.Cron = "0 0 30 2 *" }),
			"Europe/Nowhere":           with(func(s *godwit.Schedule) { s.Zone = "Europe/Nowhere" }),
			"differs between machines": with(func(s *godwit.Schedule) { s.Zone = "Local" }),
			"Schedule.Interval is 9s":  interval(9 * time.Second),
			"whole seconds":            interval(time.Minute + time.Millisecond),
			"between 10s and":          interval(10_000 * time.Hour),
			"Schedule.Interval is -1m": interval(-time.Minute),
			"it is for Cron": with(func(s *godwit.Schedule) {
				s.Cron, s.Interval, s.Zone = "", time.Minute, "UTC"
			}),
			"give it another name":      with(func(s *godwit.Schedule) { s.Zone = "Europe/Berlin" }),
			"Message.DedupID is \"x\"":  message(godwit.Message{DedupID: "x"}),
			"Message.OrderKey is \"x\"": message(godwit.Message{OrderKey: "x"}),
			"Message.Delay is 1m0s":     message(godwit.Message{Delay: time.Minute}),
			"leave all three out":       message(godwit.Message{At: time.Now()}),
		} {
			ctx, end := context.WithTimeout(w.Context(), time.Second)
			err := godwit.Every(ctx, p, s)
			if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			end()
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := p.Report().Accepted; n < 1 {
			t.Errorf("%d messages were accepted", n)
		}
		if err := godwit.Every(w.Context(), nil, minutely()); !errors.Is(err, godwit.ErrInvalid) {
			t.Error(err)
		}
		w.consumer("orders", nil)
		dead := w.producer("orders@dlq", nil)
		if err := godwit.Every(w.Context(), dead, minutely()); !errors.Is(err, godwit.ErrInvalid) {
			t.Error(err)
		}
		_ = p.Close(w.Context())
		if err := godwit.Every(w.Context(), p, minutely()); !errors.Is(err, godwit.ErrClosed) {
			t.Error(err)
		}
		if err := b.Close(w.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A message that the service will never take ends the schedule.
func TestEveryWithATooLargeMessage(t *testing.T) {
	inWorld(t, func(w *world) {
		s := minutely()
		s.Message = func(time.Time) godwit.Message { return godwit.Message{Headers: large()} }
		err := godwit.Every(w.Context(), w.producer("orders", nil), s)
		if driver.ClassOf(err) != driver.TooLarge {
			t.Error(err)
		}
	})
}

// Ticks of an interval are at its multiples in all processes, and large bodies travel, too.
func TestEveryInterval(t *testing.T) {
	inWorld(t, func(w *world) {
		var a arrivals
		w.run(w.consumer("orders", nil), func(ctx context.Context, d *godwit.Delivery) error {
			d.Body = d.Body[:20]
			return a.handle(ctx, d)
		})
		time.Sleep(7 * time.Second)
		ctx, stop := context.WithCancel(w.Context())
		done := make(chan error)
		for range 2 {
			p := w.producer("orders", nil)
			go func() {
				done <- godwit.Every(ctx, p, godwit.Schedule{
					Name: "poll", Interval: 30 * time.Second, Message: func(tick time.Time) godwit.Message {
						large := strings.Repeat("x", 300_000)
						return godwit.Message{Body: fmt.Appendf(nil, "%s%s", tick.Format(time.RFC3339), large)}
					},
				})
			}()
		}
		time.Sleep(10 * time.Minute)
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for tick := begin; tick.Before(begin.Add(10 * time.Minute)); tick = tick.Add(30 * time.Second) {
			if n := a.times(tick.Format(time.RFC3339)); n != 1 {
				t.Errorf("%v came %d times", tick, n)
			}
		}
	})
}
