package godwittest_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

func done(context.Context, *godwit.Delivery) error { return nil }

// Outside a bubble the clock does not move while a delivery is held, and the failure names the delivery.
func TestAdvanceSaysWhatIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		ordered bool
		handler func(release chan struct{}) godwit.Handler
		says    string
	}{
		"by a handler": {false, func(release chan struct{}) godwit.Handler {
			return func(context.Context, *godwit.Delivery) error { <-release; return nil }
		}, "a handler has it"},
		"for a retry": {true, func(chan struct{}) godwit.Handler {
			return func(context.Context,
				*godwit.Delivery,
			) error {
				return godwit.RetryAfter(time.Minute, errors.New("no"))
			}
		}, "its consumer holds it for a retry"},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			failure := record(t, func(r *recorder) {
				h := godwittest.New(r, nil)
				before := h.Now()
				r.Cleanup(func() {
					if moved := h.Now().Sub(before); moved > 30*time.Minute {
						t.Errorf("the clock moved by %v", moved)
					}
					close(release)
				})
				h.Run(h.Consumer("orders", &godwit.ConsumerOptions{Ordered: c.ordered}), c.handler(release))
				h.Send(h.Producer("orders", &godwit.ProducerOptions{Ordered: c.ordered}),
					godwittest.Bodies("a kite")...)
				h.Await(func() bool {
					return len(h.Messages("orders")) == 1 &&
						len(h.Messages("orders")[0].Attempts) == 1
				})
				h.Advance(time.Hour)
			})
			says(t, failure, "advance by 1h0m0s", `orders: "a kite", received`, c.says)
		})
	}
}

// Every run of a test has the same ids, unless the test sets a seed. A failure prints the seed.
func TestTheSeedIsGivenAndPrinted(t *testing.T) {
	id := func(o *godwittest.Options) (id string) {
		synctest.Test(t, func(t *testing.T) {
			h := godwittest.New(t, o)
			h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...)
			id = h.Left("orders")[0].ID
		})
		return id
	}
	seven := &godwittest.Options{Local: &local.Options{Server: &localaws.Options{Seed: 7}}}
	if a, b, c := id(nil), id(nil), id(seven); a != b || a == c {
		t.Errorf("ids %s and %s without a seed, want one; %s with seed 7, want another", a, b, c)
	}
	failure := record(t, func(r *recorder) { godwittest.New(r, seven).AssertHandled("orders", "a kite") })
	says(t, failure, "the server's seed was 7")
}

// Outside a bubble, a message that becomes due during Advance is handled during Advance.
func TestAdvanceHandlesWhatIsDue(t *testing.T) {
	h := godwittest.New(t, nil)
	begun := h.Now()
	var when atomic.Pointer[time.Time]
	h.Run(h.Consumer("orders", nil), func(context.Context, *godwit.Delivery) error {
		now := h.Now()
		when.Store(&now)
		time.Sleep(5 * time.Millisecond)
		return nil
	})
	h.Send(h.Producer("orders", nil), godwit.Message{Body: []byte("later"), Delay: 10 * time.Minute})
	real := time.Now()
	h.Advance(time.Hour)
	h.AssertHandled("orders", "later")
	h.AssertAttempts("orders", "later", 1)
	if took := time.Since(real); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if after := when.Load().Sub(begun); after < 10*time.Minute || after > 11*time.Minute {
		t.Errorf("it was handled after %v", after)
	}
	if after := h.Now().Sub(begun); after < time.Hour {
		t.Errorf("the clock shows %v later", after)
	}
}

// A consumer that does not receive an available message does not block Advance.
func TestAdvancePastAMessageThatNobodyTakes(t *testing.T) {
	h := godwittest.New(t, nil)
	h.Consumer("orders", nil)
	h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...)
	h.Advance(24 * time.Hour)
	if n := len(h.Left("orders")); n != 1 {
		t.Errorf("%d left", n)
	}
}

// The harness sees what the application creates on its backend, also a loop over deliveries.
func TestConsumersOfTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, &godwittest.Options{Local: &local.Options{Namespace: "prod"}})
		c, err := godwit.NewConsumer(t.Context(), h.Backend(), "wishes.audit",
			&godwit.ConsumerOptions{Backoff: godwit.Constant(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		h.Go("the loop", func(ctx context.Context) error {
			for d, err := range c.Deliveries(ctx) {
				switch {
				case err != nil:
					return err
				case string(d.Body) == "bad":
					err = d.Reject(errors.New("no such kite"))
				case d.Attempt < 3:
					err = d.Retry(time.Minute)
				default:
					err = d.Done()
				}
				if err != nil {
					return err
				}
			}
			_, err := c.Close(context.Background())
			return err
		})
		h.Send(h.Producer("wishes.*", nil), godwittest.Bodies("a kite", "bad")...)
		h.AwaitNothingLeft()
		h.AssertHandled("wishes.audit", "a kite")
		h.AssertAttempts("wishes.audit", "a kite", 3)
		h.AssertDeadLettered("wishes.audit",
			godwittest.DeadLetter{Body: "bad", Cause: "no such kite", Consumer: "wishes.audit"})
		h.AssertNothingLeft()
	})
}

// Attempts whose retries the consumer holds itself are recorded, also for a consumer that the application has created.
func TestHeldRetriesOfTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		ordered := &godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(time.Minute)}
		c, err := godwit.NewConsumer(t.Context(), h.Backend(), "orders", ordered)
		if err != nil {
			t.Fatal(err)
		}
		h.Go("the application", func(ctx context.Context) error {
			_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				if d.Attempt < 3 || string(d.Body) == "bad" {
					return errors.New("not yet")
				}
				return nil
			})
			return err
		})
		h.Send(h.Producer("orders", &godwit.ProducerOptions{Ordered: true}), godwittest.Bodies("a kite", "bad")...)
		h.AwaitNothingLeft()
		h.AssertAttempts("orders", "a kite", 3)
		h.AssertAttempts("orders", "bad", 3)
		for _, m := range h.Messages("orders") {
			for i, a := range m.Attempts {
				if a.Number != i+1 {
					t.Errorf("attempts of %s: %+v", m.Body, m.Attempts)
					break
				}
			}
		}
		if first := h.Messages("orders")[0].Attempts[0]; first.Outcome != "retry held by the consumer" {
			t.Errorf("the first attempt is %+v", first)
		}
	})
}

// A producer that the application has left open is reported.
func TestAProducerLeftOpen(t *testing.T) {
	failure := record(t, func(r *recorder) {
		h := godwittest.New(r, nil)
		closed, err := godwit.NewProducer(t.Context(), h.Backend(), "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := closed.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		open, err := godwit.NewProducer(t.Context(), h.Backend(), "wishes.*", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = open.Close(context.Background()) })
		h.Producer("orders", nil)
	})
	says(t, failure, "1 producer of wishes.* was left open")
	if strings.Contains(failure, "orders") {
		t.Errorf("the failure names a producer that was closed:\n%s", failure)
	}
}

// A delivery that is released or dropped does not count as handled.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		var started []string
		c := h.Consumer("orders", &godwit.ConsumerOptions{
			Policy: func(*godwit.Delivery, error) godwit.Verdict { return godwit.Verdict{Action: godwit.ActionDrop} },
			Hooks:  godwit.Hooks{Started: func(d *godwit.Delivery) { started = append(started, string(d.Body)) }},
		})
		h.Run(c, func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "not mine" && len(started) == 1 {
				return d.Release()
			}
			return errors.New("whatever")
		})
		h.Send(h.Producer("orders", nil), godwittest.Bodies("not mine")...)
		h.AwaitNothingLeft()
		h.AssertHandled("orders")
		var outcomes []string
		for _, a := range h.Messages("orders")[0].Attempts {
			outcomes = append(outcomes, a.Outcome)
		}
		if want := []string{"released", "dropped"}; !slices.Equal(outcomes, want) || len(started) != 2 {
			t.Errorf("outcomes %q of starts %q, want %q", outcomes, started, want)
		}
	})
}

// Each fault does what its name says.
func TestFaults(t *testing.T) {
	send := func(h *godwittest.Harness) { h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...) }
	for name, c := range map[string]struct {
		inject func(h *godwittest.Harness) *godwittest.Fault
		check  func(t *testing.T, h *godwittest.Harness, took time.Duration)
	}{
		// The handler takes 100 ms; the shortest waits of three repetitions take 10, 20 and 40 ms.
		"throttled sends": {func(h *godwittest.Harness) *godwittest.Fault {
			return h.Throttle(godwittest.Sends,
				"orders", 3)
		}, slower(170 * time.Millisecond)},
		"failed receives": {func(h *godwittest.Harness) *godwittest.Fault {
			return h.Fail(godwittest.Receives, "orders",
				3)
		}, slower(200 * time.Millisecond)},
		"a lost receive": {
			func(h *godwittest.Harness) *godwittest.Fault { return h.LoseAnswers(godwittest.Receives, "orders", 1) },
			slower(30 * time.Second),
		},
		// Shorter than the sender's 20 s, because the waits between its last tries may take ten.
		"an outage": {
			func(h *godwittest.Harness) *godwittest.Fault { return h.Outage(5 * time.Second) },
			slower(5 * time.Second),
		},
		"duplicates": {
			func(h *godwittest.Harness) *godwittest.Fault { return h.Duplicates("orders", 1) },
			func(t *testing.T, h *godwittest.Harness, _ time.Duration) {
				if m := h.Messages("orders")[0]; m.Received < 2 {
					t.Errorf("the message was received %d times", m.Received)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := godwittest.New(t, nil)
				consumer := h.Consumer("orders", nil)
				p := h.Producer("orders", nil)
				begun := time.Now()
				c.inject(h)
				h.Send(p, godwittest.Bodies("a kite")...)
				h.Run(consumer,
					func(context.Context, *godwit.Delivery) error { time.Sleep(100 * time.Millisecond); return nil })
				h.AwaitHandled("orders", 1)
				h.AssertHandled("orders", "a kite")
				c.check(t, h, time.Since(begun))
			})
		})
	}
	t.Run("denied until lifted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := godwittest.New(t, nil)
			h.Run(h.Consumer("orders", nil), done)
			p := h.Producer("orders", nil)
			fault := h.Deny(godwittest.Sends, "orders")
			if err := p.Send(t.Context(), godwit.Message{}); err == nil {
				t.Error("the send was accepted")
			}
			fault.Lift()
			send(h)
			h.AwaitHandled("orders", 1)
		})
	})
	t.Run("of an exchange, and not of another channel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := godwittest.New(t, nil)
			h.Consumer("wishes.audit", nil)
			h.Deny(godwittest.Sends, "wishes.*")
			send(h)
			if err := h.Producer("wishes.*", nil).Send(t.Context(), godwit.Message{}); err == nil {
				t.Error("the send was accepted")
			}
			h.AssertNone("wishes.audit")
		})
	})
}

func slower(least time.Duration) func(*testing.T, *godwittest.Harness, time.Duration) {
	return func(t *testing.T, _ *godwittest.Harness, took time.Duration) {
		if took < least {
			t.Errorf("the send took %v; the fault has no effect", took)
		}
	}
}

// AwaitHandled waits until the service has deleted the message, not only for the handler.
func TestAwaitHandledWaitsForTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		h.Server().Control("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: 2 * time.Second}
		})
		h.Run(h.Consumer("orders", nil), done)
		h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...)
		h.AwaitHandled("orders", 1)
		if n := len(h.Left("orders")); n > 0 {
			t.Errorf("%d left", n)
		}
	})
}

// Two harnesses in one process are independent.
func TestTwoInOneProcess(t *testing.T) {
	one, other := godwittest.New(t, nil), godwittest.New(t, nil)
	one.Run(one.Consumer("orders", nil), done)
	other.Run(other.Consumer("orders", nil), done)
	one.Send(one.Producer("orders", nil), godwittest.Bodies("a kite")...)
	one.AwaitHandled("orders", 1)
	other.AssertNone("orders")
}

func TestPatienceIsNotNegative(t *testing.T) {
	says(t, record(t, func(r *recorder) { godwittest.New(r, &godwittest.Options{Patience: -1}) }), "Options.Patience")
}

// The code in docs/testing.md is compiled and run, because testing_test.go contains it.
func TestThePageIsCode(t *testing.T) {
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("testing_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Errorf("%d blocks of code", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(string(code), strings.TrimSpace(b[1])) {
			t.Errorf("docs/testing.md has code that testing_test.go does not contain:\n%s", b[1])
		}
	}
}

// A delay that the service does not keep works in a bubble as any other.
func TestAdvancePastALongDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		h.Run(h.Consumer("orders", nil), func(context.Context, *godwit.Delivery) error { return nil })
		h.Send(h.Producer("orders", nil), godwit.Message{Body: []byte("a kite"), Delay: 30 * time.Hour})
		h.Advance(29 * time.Hour)
		h.AssertNone("orders")
		if n := len(h.Left("orders@later")); n != 1 {
			t.Errorf("%d messages wait for their time", n)
		}
		h.Advance(time.Hour + 2*time.Second)
		h.AssertHandled("orders", "a kite")
		h.AssertNothingLeft()
	})
}
