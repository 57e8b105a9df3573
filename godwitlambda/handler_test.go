package godwitlambda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/godwitlambda"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

var (
	orders  = driver.Channel{Queue: "orders"}
	ordered = driver.Channel{Queue: "orders", Ordered: true}
	errSold = errors.New("sold out")

	errDropped = errors.New("nobody needs it")
)

// Each message of a standard queue has its own end: what is handled, dropped or rejected is deleted, and what is to be
// retried is in the answer, visible after its wait.
func TestAStandardQueue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		w.send("orders", false, "good", "retry", "later", "panic", "permanent", "drop", "slow")
		var mu sync.Mutex
		attempts := map[string][]int{}
		h := w.handler("orders", func(ctx context.Context, d *godwit.Delivery) error {
			body := string(d.Body)
			mu.Lock()
			attempts[body] = append(attempts[body], d.Attempt)
			first := len(attempts[body]) == 1
			mu.Unlock()
			switch {
			case body == "slow":
				<-ctx.Done()
				return ctx.Err()
			case body == "permanent":
				return godwit.Permanent(errSold)
			case body == "drop":
				return errDropped
			case !first:
			case body == "retry":
				return errSold
			case body == "later":
				return godwit.RetryAfter(40*time.Minute, errSold)
			case body == "panic":
				panic("no kites")
			}
			return nil
		}, godwit.ConsumerOptions{
			ProcessingTimeout: 5 * time.Second,
			Policy: func(d *godwit.Delivery, err error) godwit.Verdict {
				if errors.Is(err, errDropped) {
					return godwit.Verdict{Action: godwit.ActionDrop}
				}
				return godwit.RetryPolicy(3, godwit.Constant(10*time.Second))(d, err)
			},
		})

		failed, took := w.invoke(h, "orders", 10)
		slices.Sort(failed)
		if diff := cmp.Diff([]string{"later", "panic", "retry"}, failed); diff != "" {
			t.Errorf("to be delivered again (-want +got):\n%s", diff)
		}
		if took != 5*time.Second {
			t.Errorf("the event took %v, and the slowest handler 5s", took)
		}
		if calls := w.Server().Calls(); calls["sqs.DeleteMessageBatch"] > 0 {
			t.Errorf("the function has deleted messages itself: %v", calls)
		}
		if diff := cmp.Diff([]string{"permanent permanent", "timeout slow"}, w.deaths("orders", false)); diff != "" {
			t.Errorf("dead letters (-want +got):\n%s", diff)
		}
		failed, took = w.invoke(h, "orders", 10) // the dead letters took a minute
		if len(failed) > 0 || took > 100*time.Millisecond {
			t.Errorf("failed again: %v, in %v", failed, took)
		}
		if visible, hidden := w.waiting("orders"); visible != "0" || hidden != "1" {
			t.Errorf("%s messages are visible, and %s wait", visible, hidden)
		}
		time.Sleep(39 * time.Minute)
		w.invoke(h, "orders", 10)
		want := map[string][]int{
			"good": {1}, "permanent": {1}, "drop": {1}, "slow": {1}, "retry": {1, 2}, "later": {1, 2}, "panic": {1, 2},
		}
		if diff := cmp.Diff(want, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

// From the first failure of a message group on, the group is delivered again, in order. Other groups go on, and a
// rejected message does not stop its group.
func TestAFIFOQueue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(ordered, 3*time.Minute)
		w.send("orders", true, "a=a1", "b=b1", "a=a2", "b=bad", "a=a3", "b=b3", "c=c1", "a=a4")
		var mu sync.Mutex
		var handled []string
		failures := map[string]int{"a2": 2}
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			body := string(d.Body)
			if failures[body] > 0 {
				failures[body]--
				return errSold
			}
			if body == "bad" {
				return godwit.Permanent(errSold)
			}
			handled = append(handled, body)
			return nil
		}, godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(10 * time.Second)})
		var rounds [][]string
		for range 3 {
			failed, _ := w.invoke(h, "orders.fifo", 10)
			rounds = append(rounds, failed)
			time.Sleep(8 * time.Second)
			if early := w.receive("orders.fifo", 1); len(early) > 0 && len(failed) > 0 {
				t.Errorf("%s overtakes its group", *early[0].Body)
			}
			time.Sleep(time.Second)
		}
		if diff := cmp.Diff([][]string{{"a2", "a3", "a4"}, {"a2", "a3", "a4"}, nil}, rounds); diff != "" {
			t.Errorf("to be delivered again (-want +got):\n%s", diff)
		}
		groups := map[byte]string{}
		for _, body := range handled {
			groups[body[0]] += body[1:]
		}
		if diff := cmp.Diff(map[byte]string{'a': "1234", 'b': "13", 'c': "1"}, groups); diff != "" {
			t.Errorf("handled (-want +got):\n%s", diff)
		}
	})
}

// Two seconds before the function's deadline nothing starts any more. A handler that runs is canceled, and everything
// that is not finished is visible at once.
func TestADeadline(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		t.Run(fmt.Sprintf("stubborn=%v", stubborn), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.make(orders, 3*time.Minute)
				for i := range 8 {
					w.send("orders", false, fmt.Sprint(i))
				}
				var mu sync.Mutex
				started, causes := 0, map[string]int{}
				ignore := make(chan struct{})
				h := w.handler("orders", func(ctx context.Context, _ *godwit.Delivery) error {
					mu.Lock()
					n := started
					started++
					mu.Unlock()
					if n < 2 {
						return nil
					}
					<-ctx.Done()
					mu.Lock()
					causes[context.Cause(ctx).Error()]++
					mu.Unlock()
					if stubborn {
						<-ignore
					}
					return ctx.Err()
				}, godwit.ConsumerOptions{Concurrency: 3})
				failed, took := w.invoke(h, "orders", 10)
				mu.Lock() // stubborn handlers still run
				defer mu.Unlock()
				if len(failed) != 6 || started != 5 {
					t.Errorf("%d of 8 are delivered again, and %d have started", len(failed), started)
				}
				if took < functionTimeout-2*time.Second || took > functionTimeout-500*time.Millisecond {
					t.Errorf("the answer came after %v of %v", took, functionTimeout)
				}
				if diff := cmp.Diff(map[string]int{godwit.ErrShutdown.Error(): 3}, causes); diff != "" {
					t.Errorf("causes (-want +got):\n%s", diff)
				}
				if visible, _ := w.waiting("orders"); visible != "6" {
					t.Errorf("%s messages are visible", visible)
				}
				close(ignore)
			})
		})
	}
}

// A body that cannot be decoded, a message of another program, one with attributes that are no text, and SNS's own JSON
// of a topic that the channel does not trust are read as by a consumer that polls.
func TestForeignMessages(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		text, number, data := "String", "Number", "Binary"
		wrapped := `{"Type":"Notification","MessageId":"1","TopicArn":"arn:aws:sns:us-east-1:1:t","Message":"wrapped"}`
		for body, attributes := range map[string]map[string]types.MessageAttributeValue{
			"plain": nil,
			"attributes": {
				"colour": {DataType: &text, StringValue: new("red")},
				"size":   {DataType: &number, StringValue: new("7")},
				"seal":   {DataType: &data, BinaryValue: []byte{0, 1}},
			},
			"broken": {"godwit": {DataType: &text, StringValue: new(`{"v":`)}},
			wrapped:  nil,
		} {
			if _, err := w.sqs.SendMessage(w.Context(), &sqs.SendMessageInput{
				QueueUrl: w.url("orders"), MessageBody: &body, MessageAttributes: attributes,
			}); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var got []string
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			var native types.Message
			if !d.As(&native) || *native.Body != string(d.Body) {
				t.Errorf("As of %s has %+v", d.Body, native)
			}
			h := d.Headers
			got = append(got, strings.TrimSpace(fmt.Sprint(string(d.Body), " ", h.Value("colour"), " ", h.Value("size"),
				" ", h.Value("seal"))))
			return nil
		}, godwit.ConsumerOptions{})
		if failed, _ := w.invoke(h, "orders", 10); len(failed) > 0 {
			t.Errorf("to be delivered again: %v", failed)
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"attributes red 7 AAE=", "plain", wrapped}, got); diff != "" {
			t.Errorf("handled (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"undecodable broken"}, w.deaths("orders", false)); diff != "" {
			t.Errorf("dead letters (-want +got):\n%s", diff)
		}
	})
}

// A body in the store is read, and stays there. A missing one is a dead letter.
func TestABodyInAStore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		large := strings.Repeat("kite", 100_000)
		w.send("orders", false, large, "small")
		sizes := make(chan int, 3)
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			sizes <- len(d.Body)
			return nil
		}, godwit.ConsumerOptions{Concurrency: 1})
		ms := w.receive("orders", 2)
		event := eventOf("orders", ms)
		for range 2 { // the second answer is to an event that was delivered again, because the first answer was lost
			text, err := h.Invoke(w.Context(), event)
			if ids, e := failuresOf(text); err != nil || e != nil || len(ids) > 0 {
				t.Errorf("%v, %v, %v", ids, err, e)
			}
		}
		if len(sizes) != 2 || <-sizes+<-sizes != len(large)+len("small") {
			t.Errorf("%d were handled, with other bodies", len(sizes)+2)
		}
		if n, _ := w.Server().S3().Bucket(local.Bucket).Count(); n != 1 {
			t.Errorf("%d objects", n)
		}
	})
}

// A filter's other messages, and messages that were handled before, are deleted; hooks tell so.
func TestDiscards(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(driver.Channel{Exchange: "events", Queue: "audit"}, 3*time.Minute)
		w.send("events.*", false, "a kite")
		var reasons []string
		h := w.handler("events.audit", func(context.Context, *godwit.Delivery) error { return nil },
			godwit.ConsumerOptions{
				Filter: godwit.Filter{Exact: []string{"none"}},
				Hooks: godwit.Hooks{Discarded: func(d godwit.Discarded) {
					reasons = append(reasons, fmt.Sprint(d.Reason, d.Count))
				}},
			})
		if failed, _ := w.invoke(h, "events--audit", 10); len(failed) > 0 || len(reasons) != 1 {
			t.Errorf("failed %v, discarded %v", failed, reasons)
		}
	})
}

// A verdict that cannot be carried out leaves its message in the answer.
func TestVerdictsThatFail(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		w.send("orders", false, "retry", "reject", "good")
		var mu sync.Mutex
		var refused []string
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			switch string(d.Body) {
			case "retry":
				return errSold
			case "reject":
				return godwit.Permanent(errSold)
			}
			return nil
		}, godwit.ConsumerOptions{Hooks: godwit.Hooks{SettleFailed: func(d *godwit.Delivery, _ error) {
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, string(d.Body))
		}}})
		for _, action := range []string{"sqs.SendMessageBatch", "sqs.ChangeMessageVisibilityBatch"} {
			w.Server().Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
			})
		}
		failed, took := w.invoke(h, "orders", 10)
		slices.Sort(failed)
		slices.Sort(refused)
		want := []string{"reject", "retry"}
		if diff := cmp.Diff([][]string{want, want}, [][]string{failed, refused}); diff != "" {
			t.Errorf("to be delivered again, and hooks (-want +got):\n%s", diff)
		}
		if took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A handler that stops its consumer leaves what is not finished in the answer, and the next event is handled.
func TestAFatalError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		w.send("orders", false, "1", "2", "3")
		fatal := true
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "2" && fatal {
				fatal = false
				return godwit.Fatal(errSold)
			}
			return nil
		}, godwit.ConsumerOptions{Concurrency: 1})
		if failed, took := w.invoke(h, "orders", 10); !slices.Contains(failed, "2") || took > time.Second {
			t.Errorf("to be delivered again: %v, after %v", failed, took)
		}
		if failed, _ := w.invoke(h, "orders", 10); len(failed) != 0 {
			t.Errorf("to be delivered again: %v", failed)
		}
		if visible, hidden := w.waiting("orders"); visible != "0" || hidden != "0" {
			t.Errorf("%s messages are left, and %s are hidden", visible, hidden)
		}
	})
}

// Failures of earlier events count, but not the events in which a message waited behind another one.
func TestAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(ordered, 3*time.Minute)
		w.send("orders", true, "a=bad", "a=good", "a=once")
		var attempts []string
		failed := false
		h := w.handler("orders", func(_ context.Context, d *godwit.Delivery) error {
			attempts = append(attempts, fmt.Sprint(string(d.Body), d.Attempt))
			if string(d.Body) == "bad" || string(d.Body) == "once" && !failed {
				failed = string(d.Body) == "once"
				return errSold
			}
			return nil
		}, godwit.ConsumerOptions{Ordered: true, MaxAttempts: 2, Backoff: godwit.Constant(time.Second)})
		for range 3 {
			w.invoke(h, "orders.fifo", 10)
			time.Sleep(time.Second)
		}
		if diff := cmp.Diff([]string{"bad1", "bad2", "good2", "once2", "once3"}, attempts); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"exhausted bad"}, w.deaths("orders", true)); diff != "" {
			t.Errorf("dead letters (-want +got):\n%s", diff)
		}
	})
}

// A batch handler gets the messages of the event together.
func TestABatchHandler(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make(orders, 3*time.Minute)
		w.send("orders", false, "1", "2", "3", "4")
		total := 0
		h, err := godwitlambda.NewBatchHandler(w.Context(), w.snssqs(), "orders",
			func(_ context.Context, ds []*godwit.Delivery) error {
				total += len(ds)
				return &godwit.HandleBatchError{Errs: map[int]error{0: errSold}}
			}, &godwit.ConsumerOptions{Logger: slog.New(slog.DiscardHandler)},
			&godwit.BatchOptions{Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if failed, _ := w.invoke(h, "orders", 10); total != 4 || len(failed) != 1 {
			t.Errorf("%d were handled, and %v failed", total, failed)
		}
	})
}

// Options without an effect on Lambda, and channels that cannot be, are errors when the process starts.
func TestNewHandlerRefuses(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	good := func(context.Context, *godwit.Delivery) error { return nil }
	for want, o := range map[string]godwit.ConsumerOptions{
		"batch size of the event source mapping": {BatchSize: 5},
		"visibility timeout of the queue":        {Lease: time.Minute},
		"timeout of the function":                {ShutdownTimeout: time.Second},
		"retry with a long Backoff":              {BreakAfter: 3},
		"tag the queue":                          {Ownership: godwit.Ownership{Owner: "shop"}},
		"ConsumerOptions.Concurrency is -1":      {Concurrency: -1},
		"ConsumerOptions.ProcessingTimeout is":   {ProcessingTimeout: time.Hour},
		"provision orders":                       {Provision: godwit.ProvisionVerify},
	} {
		if _, err := godwitlambda.NewHandler(t.Context(), w.snssqs(), "orders", good, &o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := godwitlambda.NewHandler(t.Context(), w.snssqs(), "or--ders", good, nil); err == nil {
		t.Error("a channel or--ders")
	}
	if _, err := godwitlambda.NewHandler(t.Context(), nil, "orders", good, nil); err == nil {
		t.Error("no backend")
	}
	if _, err := godwitlambda.NewHandler(t.Context(), w.snssqs(), "orders", nil, nil); err == nil {
		t.Error("no handler")
	}
}

// Lambda's poller, over many events with failures, panics, rejections, deadlines and lost answers: nothing is lost, and
// each group keeps its order.
func TestNothingIsLostAndOrderIsKept(t *testing.T) {
	for seed := range int64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inWorld(t, func(w *world) {
				random := rand.New(rand.NewSource(seed))
				w.make(ordered, 3*time.Minute)
				want := map[string]string{}
				total := 0
				for i := range 60 {
					key := string(rune('a' + random.Intn(5)))
					want[key] += fmt.Sprintf("%d ", i)
					w.send("orders", true, fmt.Sprintf("%s=%d", key, i))
					total++
				}
				var mu sync.Mutex
				got := map[string]string{}
				done := 0
				h := w.handler("orders", func(ctx context.Context, d *godwit.Delivery) error {
					mu.Lock()
					n := random.Intn(20)
					mu.Unlock()
					switch n {
					case 0:
						return errSold
					case 1:
						panic("no kites")
					case 2:
						<-ctx.Done()
						return ctx.Err()
					}
					mu.Lock()
					defer mu.Unlock()
					got[d.OrderKey] += string(d.Body) + " "
					done++
					return nil
				}, godwit.ConsumerOptions{
					Ordered: true, MaxAttempts: 1000, Backoff: godwit.Constant(time.Second),
					ProcessingTimeout: 30 * time.Minute,
				})
				for round := 0; done < total; round++ {
					if round > 500 {
						t.Fatalf("%d of %d after %d events", done, total, round)
					}
					if ms := w.receive("orders.fifo", 1); len(ms) == 0 {
						time.Sleep(time.Second)
						continue
					} else if _, err := w.sqs.ChangeMessageVisibility(w.Context(), &sqs.ChangeMessageVisibilityInput{
						QueueUrl: w.url("orders.fifo"), ReceiptHandle: ms[0].ReceiptHandle,
					}); err != nil {
						t.Fatal(err)
					}
					w.invoke(h, "orders.fifo", 10)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("handled (-want +got):\n%s", diff)
				}
				if visible, hidden := w.waiting("orders.fifo"); visible != "0" || hidden != "0" {
					t.Errorf("%s messages are left, and %s are hidden", visible, hidden)
				}
			})
		})
	}
}

// Each event is a run of its own consumer. This is what a run costs.
func BenchmarkInvoke(b *testing.B) {
	w := newWorld(b)
	defer w.close()
	w.make(orders, 3*time.Minute)
	h := w.handler("orders", func(context.Context, *godwit.Delivery) error { return nil }, godwit.ConsumerOptions{})
	for i := range 10 {
		w.send("orders", false, fmt.Sprint(i))
	}
	ms := w.receive("orders", 10)
	n := 0
	for b.Loop() {
		for i := range ms {
			n++
			ms[i].MessageId = new(fmt.Sprint(n)) // otherwise it was handled before
		}
		text, err := h.Invoke(context.Background(), eventOf("orders", ms))
		if ids, e := failuresOf(text); err != nil || e != nil || len(ids) > 0 {
			b.Fatal(ids, err, e)
		}
	}
}
