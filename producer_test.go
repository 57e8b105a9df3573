package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

const sends = "sqs.SendMessageBatch"

func body(s string) godwit.Message { return godwit.Message{Body: []byte(s)} }

// Senders in a loop share requests. They need few more batches than necessary, and wait for each other for at most a
// small part of a round trip.
func TestConcurrentSendersShareRequests(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		for _, senders := range fullrun.Pick([]int{2, 12, 24, 64}, []int{2, 10, 12, 16, 18, 24, 64}) {
			t.Run(fmt.Sprint(trip, " ", senders), func(t *testing.T) {
				inWorld(t, func(w *world) {
					p := w.producer("orders", nil)
					w.latency(trip)
					send := func(each int) {
						var wg sync.WaitGroup
						for s := range senders {
							wg.Go(func() {
								for i := range each {
									if err := p.Send(w.Context(), body(fmt.Sprint(s, i))); err != nil {
										t.Error(err)
									}
								}
							})
						}
						wg.Wait()
					}
					send(20) // then the producer knows the service and its senders
					each := fullrun.Pick(40, 100)
					begun, before := time.Now(), w.calls(sends)
					send(each)
					per := float64(w.calls(sends)-before) / float64(senders*each)
					rate := float64(each) * float64(trip) / float64(time.Since(begun))
					t.Logf("%.3f requests a message, %.0f %% of senders ÷ round trip", per, 100*rate)
					// Which senders share a batch is random; one batch more than needed is allowed.
					if most := float64((senders+9)/10+1) / float64(senders); per > most+0.01 {
						t.Errorf("%.3f requests a message, want at most %.3f", per, most)
					}
					if rate < 0.9 {
						t.Errorf("%.0f %% of senders ÷ round trip, want at least 90 %%", 100*rate)
					}
				})
			})
		}
	}
}

// Random sends wait for others only if others are likely. At a low rate a send takes one round trip, and at a high rate
// at most half of a round trip more.
func TestSendsWaitForOthersOnlyIfTheyAreLikely(t *testing.T) {
	t.Parallel()
	const trip = 15 * time.Millisecond
	for _, c := range []struct {
		rate     float64 // sends a second
		p99      time.Duration
		requests float64 // for each message, at most
	}{
		{rate: 1, p99: trip, requests: 1.01},
		{rate: 10, p99: trip, requests: 1.01},
		{rate: 50, p99: trip, requests: 1.01},
		{rate: 1000, p99: trip * 3 / 2, requests: 0.15},
		{rate: 3000, p99: trip * 3 / 2, requests: 0.11},
	} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			inWorld(t, func(w *world) {
				p := w.producer("orders", nil)
				w.latency(trip)
				r := rand.New(rand.NewPCG(1, 2))
				took := make([]time.Duration, 2000)
				const learning = 200 // sends until the service's duration is known
				before := 0
				var wg sync.WaitGroup
				for i := range took {
					if i == learning {
						before = w.calls(sends)
					}
					time.Sleep(time.Duration(r.ExpFloat64() / c.rate * float64(time.Second)))
					wg.Go(func() {
						begun := time.Now()
						if err := p.Send(w.Context(), body("x")); err != nil {
							t.Error(err)
						}
						took[i] = time.Since(begun)
					})
				}
				wg.Wait()
				slices.Sort(took)
				p99, per := took[len(took)*99/100], float64(w.calls(sends)-before)/float64(len(took)-learning)
				t.Logf("p50 %v, p99 %v, %.3f requests a message", took[len(took)/2], p99, per)
				if p99 > c.p99 {
					t.Errorf("p99 of a send is %v, want at most %v", p99, c.p99)
				}
				if per > c.requests {
					t.Errorf("%.3f requests a message, want at most %.3f", per, c.requests)
				}
			})
		})
	}
}

func TestALoneSendIsNotDelayed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.latency(5 * time.Millisecond)
		begun := time.Now()
		for range 20 {
			if err := p.Send(w.Context(), body("x")); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 100*time.Millisecond {
			t.Errorf("20 sends of 5 ms took %v", took)
		}
	})
}

// failing makes the service refuse chosen messages of a batch with a temporary error, the first n times each.
func (w *world) failing(n int, bodies ...string) {
	var mu sync.Mutex
	seen := map[string]int{}
	w.server.Control(sends, func(_ context.Context, r *localaws.Request) localaws.Outcome {
		mu.Lock()
		defer mu.Unlock()
		fail := map[string]bool{}
		for id, text := range entries(r.Input) {
			if slices.Contains(bodies, text) && seen[text] < n {
				seen[text]++
				fail[id] = true
			}
		}
		if len(fail) == 0 {
			return localaws.Outcome{}
		}
		return localaws.Outcome{FailEntries: func(id string) *wire.Error {
			if fail[id] {
				return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
			}
			return nil
		}}
	})
}

func TestNothingOvertakesAFailedMessageOfItsKey(t *testing.T) {
	t.Parallel()
	send := map[string]func(w *world, p *godwit.Producer, ms []godwit.Message){
		"SendBatch": func(w *world, p *godwit.Producer, ms []godwit.Message) {
			if err := p.SendBatch(w.Context(), ms); err != nil {
				w.Error(err)
			}
		},
		"SendAsync": func(w *world, p *godwit.Producer, ms []godwit.Message) {
			for _, m := range ms {
				if _, err := p.SendAsync(w.Context(), m); err != nil {
					w.Error(err)
				}
			}
			if err := p.Close(w.Context()); err != nil {
				w.Error(err)
			}
		},
	}
	for name, send := range send {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true})
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
				w.failing(3, "ada 1", "bob 4")
				var ms []godwit.Message
				want := map[string][]string{}
				for i := range 8 {
					for _, key := range []string{"ada", "bob", "eve"} {
						m := body(fmt.Sprint(key, " ", i))
						m.OrderKey = key
						ms = append(ms, m)
						want[key] = append(want[key], string(m.Body))
					}
				}
				send(w, p, ms)
				got := map[string][]string{}
				var mu sync.Mutex
				run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
					mu.Lock()
					defer mu.Unlock()
					got[d.OrderKey] = append(got[d.OrderKey], string(d.Body))
					return nil
				})
				time.Sleep(time.Minute)
				run.stop()
				for key := range want {
					if !slices.Equal(got[key], want[key]) {
						t.Errorf("%s was handled as %q", key, got[key])
					}
				}
			})
		})
	}
}

func TestTemporaryErrorsAreRepeated(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		throttle := func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}}
		}
		for range 3 {
			w.server.ControlOnce(sends, throttle)
		}
		if err := p.Send(w.Context(), body("patient")); err != nil {
			t.Errorf("throttled three times: %v", err)
		}
		remove := w.server.Control(sends, throttle)
		begun, before := time.Now(), w.calls(sends)
		err := p.Send(w.Context(), body("unlucky"))
		took, tries := time.Since(begun), w.calls(sends)-before
		if err == nil || !strings.Contains(err.Error(), "tried "+strconv.Itoa(tries)+" times in ") ||
			!strings.Contains(err.Error(), "Rate exceeded") {
			t.Errorf("throttled all the time, %d tries: %v", tries, err)
		}
		if took > 21*time.Second || took < 20*time.Second {
			t.Errorf("it gave up after %v, want 20 s, and a second for a last probe", took)
		}
		var e *godwit.Error
		if !errors.As(err, &e) || e.Op != "send" || e.Channel != "orders" {
			t.Errorf("the error is %#v", err)
		}
		remove()
		time.Sleep(10 * time.Second)
		if err := p.Send(w.Context(), body("after")); err != nil {
			t.Errorf("after the trouble: %v", err)
		}
	})
}

func TestADeadEndpointGetsFewRequests(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.server.Control(sends,
			func(context.Context, *localaws.Request) localaws.Outcome { return localaws.Outcome{Drop: true} })
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				if err := p.Send(w.Context(), body("x")); err == nil {
					t.Error("accepted by a dead endpoint")
				}
			})
		}
		wg.Wait()
		if n := w.calls(sends); n > 100 {
			t.Errorf("%d requests in 20 s to an endpoint that is dead", n)
		}
	})
}

func TestOtherErrorsAreReturnedAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.server.ControlOnce(sends, func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "AccessDeniedException", Message: "no", Status: 403}}
		})
		begun := time.Now()
		err := p.Send(w.Context(), body("x"))
		if err == nil || !strings.Contains(err.Error(), "sqs:SendMessage") || time.Since(begun) > time.Second {
			t.Errorf("denied, after %v: %v; want an error at once that names the permission", time.Since(begun), err)
		}
	})
}

func TestALostAnswerLosesNoMessageAndRepeatsNoneInOrder(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered})
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			w.server.ControlOnce(sends,
				func(context.Context, *localaws.Request) localaws.Outcome { return localaws.Outcome{DropAfter: true} })
			if err := p.Send(w.Context(), body("once")); err != nil {
				t.Fatal(err)
			}
			var handled atomic.Int32
			run := w.run(c, func(context.Context, *godwit.Delivery) error { handled.Add(1); return nil })
			time.Sleep(time.Minute)
			run.stop()
			if n := handled.Load(); n < 1 || ordered && n != 1 {
				t.Errorf("ordered %v: handled %d times", ordered, n)
			}
		})
	}
}

func TestAnInvalidMessageAffectsNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		big := godwit.Message{Headers: large()}
		bad := godwit.Message{Headers: godwit.Headers{{Name: "h", Value: "\x00"}}}
		err := p.SendBatch(w.Context(), []godwit.Message{body("a"), big, body("b"), bad})
		var batch *godwit.SendBatchError
		if !errors.As(err, &batch) || len(batch.Errs) != 2 || batch.Errs[1] == nil || batch.Errs[3] == nil {
			t.Fatalf("SendBatch returned %v", err)
		}
		if !strings.Contains(batch.Errs[1].Error(), "1048576") || !strings.Contains(batch.Errs[3].Error(), "header h") {
			t.Errorf("the faults are %v and %v", batch.Errs[1], batch.Errs[3])
		}
		if n := w.calls(sends); n != 1 {
			t.Errorf("%d requests for two good messages", n)
		}
	})
}

func TestCloseSendsWhatIsQueued(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.latency(50 * time.Millisecond)
		var results []*godwit.Result
		for i := range 95 {
			r, err := p.SendAsync(w.Context(), body(strconv.Itoa(i)))
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		if err := p.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			select {
			case <-r.Done():
			default:
				t.Fatalf("message %d has no result after Close", i)
			}
			if err := r.Wait(w.Context()); err != nil {
				t.Errorf("message %d: %v", i, err)
			}
		}
		if err := p.Send(w.Context(), body("late")); !errors.Is(err, godwit.ErrClosed) {
			t.Errorf("send after Close: %v", err)
		}
	})
}

// A receipt has the service's id, and says whether an equal message was accepted before.
func TestReceipts(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"orders", "events.*"} {
		inWorld(t, func(w *world) {
			queue := strings.Replace(channel, "*", "audit", 1)
			c := w.consumer(queue, &godwit.ConsumerOptions{Ordered: true})
			var seen []string // by the middleware
			p := w.producer(channel, &godwit.ProducerOptions{
				Ordered: true,
				Middleware: []godwit.SendMiddleware{func(next godwit.SendFunc) godwit.SendFunc {
					return func(ctx context.Context, m *godwit.Message) error {
						if m.Receipt == nil {
							m.Receipt = new(godwit.Receipt)
						}
						err := next(ctx, m)
						if err == nil {
							seen = append(seen, m.Receipt.MessageID)
						}
						return err
					}
				}},
			})
			asking := func(s string) (godwit.Message, *godwit.Receipt) {
				m := body(s)
				m.Receipt = new(godwit.Receipt)
				return m, m.Receipt
			}
			if err := p.Send(w.Context(), body("a")); err != nil {
				t.Fatal(err)
			}
			a, again := asking("a")
			b, first := asking("b")
			if err := errors.Join(p.Send(w.Context(), a), p.Send(w.Context(), b)); err != nil {
				t.Fatal(err)
			}
			if !again.Duplicate || first.Duplicate || len(seen) != 3 || seen[0] == "" || again.MessageID != seen[0] ||
				first.MessageID != seen[2] {
				t.Errorf("%s: receipts %+v and %+v, the middleware saw %q", channel, *again, *first, seen)
			}
			b2, second := asking("b")
			big, none := asking("big")
			big.Headers = large()
			c3, third := asking("c")
			var batch *godwit.SendBatchError
			if err := p.SendBatch(w.Context(), []godwit.Message{b2, big, c3}); !errors.As(err, &batch) ||
				len(batch.Errs) != 1 {
				t.Fatal(err)
			}
			if !second.Duplicate || second.MessageID != first.MessageID || *none != (godwit.Receipt{}) ||
				third.Duplicate || third.MessageID == "" {
				t.Errorf("%s: receipts of a batch %+v, %+v, %+v", channel, *second, *none, *third)
			}
			time.Sleep(5*time.Minute + time.Second)
			d, late := asking("b")
			r, err := p.SendAsync(w.Context(), d)
			if err == nil {
				err = r.Wait(w.Context())
			}
			if err != nil || late.Duplicate || late.MessageID == "" || late.MessageID == first.MessageID {
				t.Errorf("%s: after the window: %+v, %v", channel, *late, err)
			}
			ids := map[string]bool{}
			run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { ids[d.ID] = true; return nil })
			time.Sleep(time.Minute)
			run.stop()
			if len(ids) != 4 || channel == "orders" && (!ids[first.MessageID] || !ids[third.MessageID] ||
				!ids[late.MessageID]) {
				t.Errorf("%s: delivered %v", channel, ids)
			}
		})
	}
}

// A dead letter that is sent to its channel is not a duplicate of the original. Sent twice, it is delivered once.
func TestForwardedMessages(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := &godwit.ConsumerOptions{Ordered: ordered}
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
				sent := godwit.Message{
					Body: []byte("kite"), OrderKey: "ada", RoutingKey: "TOYS", Type: "order",
					Version: 2, ContentType: "text/plain",
					Headers: godwit.Headers{{Name: "locale", Value: "de"}},
				}
				fail := func() (n int) {
					run := w.run(w.consumer("orders", o), func(_ context.Context, d *godwit.Delivery) error {
						n++
						got := d.Forward()
						if string(got.Body) != "kite" || got.OrderKey != "ada" || got.RoutingKey != "TOYS" ||
							got.Type != "order" || got.Version != 2 ||
							got.ContentType != "text/plain" || got.Headers.Value("locale") != "de" ||
							got.DedupID != "" {
							t.Errorf("forwarding gives %+v", got)
						}
						return godwit.Permanent(errors.New("no"))
					})
					time.Sleep(10 * time.Second)
					run.stop()
					return n
				}
				forward := func(times int) {
					run := w.run(w.consumer("orders@dlq", nil), func(ctx context.Context,
						d *godwit.Delivery,
					) (err error) {
						for range times {
							err = errors.Join(err, p.Send(ctx, d.Forward()))
						}
						return err
					})
					time.Sleep(10 * time.Second)
					if r := run.stop(); r.Handled == 0 {
						t.Errorf("no dead letter was sent back: %+v", r)
					}
				}
				fail()
				w.send(p, sent)
				for round := range 3 { // all within five minutes
					if n := fail(); n != 1 {
						t.Fatalf("round %d: handled %d times", round, n)
					}
					times := 1
					if ordered {
						times = 2
					}
					forward(times)
				}
			})
		})
	}
}

func TestSendAsyncIsBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", &godwit.ProducerOptions{Buffer: 3})
		w.latency(time.Second)
		for range 3 {
			if _, err := p.SendAsync(w.Context(), body("x")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(w.Context(), time.Second/2)
		defer cancel()
		if _, err := p.SendAsync(ctx, body("x")); !errors.Is(err, godwit.ErrBufferFull) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fourth open result: %v", err)
		}
		begun := time.Now()
		if _, err := p.SendAsync(w.Context(), body("x")); err != nil || time.Since(begun) == 0 {
			t.Errorf("after %v: %v; want it to wait for a place", time.Since(begun), err)
		}
	})
}

func TestASenderThatGivesUpKnowsWhetherItWasSent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.latency(time.Second)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second/2)
		defer cancel()
		gone := make(chan error)
		go func() { gone <- p.Send(ctx, body("left")) }()
		synctest.Wait()
		if err := <-gone; !errors.Is(err, godwit.ErrUnanswered) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a message in flight: %v", err)
		}
	})
}

func TestADeletedChannelIsCreatedAgain(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"orders", "events.*"} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprint(channel, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					mine := strings.Replace(channel, "*", "audit", 1)
					c := w.consumer(mine, &godwit.ConsumerOptions{Ordered: ordered})
					p := w.producer(channel, &godwit.ProducerOptions{Ordered: ordered})
					w.deleteChannel(channel, ordered)
					if err := p.SendBatch(w.Context(), []godwit.Message{body("1"), body("2"), body("3")}); err != nil {
						t.Fatal(err)
					}
					var mu sync.Mutex
					var got []string
					run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
						mu.Lock()
						defer mu.Unlock()
						got = append(got, string(d.Body))
						return nil
					})
					time.Sleep(2 * time.Minute)
					run.stop()
					if !ordered {
						slices.Sort(got)
					}
					if !slices.Equal(got, []string{"1", "2", "3"}) {
						t.Errorf("handled %q", got)
					}
				})
			})
		}
	}
}

// If the service works again just before the end of RetryFor, the message is accepted: the last try is made at the end
// of the time, even if a whole wait does not fit.
func TestTheLastTryIsMadeAtTheEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", &godwit.ProducerOptions{RetryFor: 20 * time.Second})
		begun := time.Now()
		w.server.Control("sqs.*", func(context.Context, *localaws.Request) localaws.Outcome {
			if time.Since(begun) < 19500*time.Millisecond {
				return localaws.Outcome{Drop: true}
			}
			return localaws.Outcome{}
		})
		var senders sync.WaitGroup
		for range 20 {
			senders.Go(func() {
				if err := p.Send(w.Context(), body("x")); err != nil {
					t.Errorf("after %v: %v", time.Since(begun), err)
				}
			})
		}
		senders.Wait()
	})
}

// A message that is too large for the service is not repeated: there is one call and one error, for a single entry and
// for a whole batch.
func TestATooLargeMessageIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]localaws.Outcome{
		"batch": {Err: &wire.Error{Code: "BatchRequestTooLong", Message: "too long"}},
		"entry": {FailEntries: func(string) *wire.Error {
			return &wire.Error{
				Code:    "BatchRequestTooLong",
				Message: "too long",
			}
		}},
	} {
		inWorld(t, func(w *world) {
			p := w.producer("orders", nil)
			w.server.Control(sends, func(context.Context, *localaws.Request) localaws.Outcome { return o })
			before, begun := w.calls(sends), time.Now()
			err := p.Send(w.Context(), body("x"))
			if n := w.calls(sends) - before; err == nil || driver.ClassOf(err) != driver.TooLarge || n != 1 ||
				time.Since(begun) > 0 {
				t.Errorf("%s: %v, of class %s, after %d calls and %v; want one call, of class too large", name, err,
					driver.ClassOf(err), n, time.Since(begun))
			}
		})
	}
}

// A DedupID on a channel without order is an error, before anything is sent.
func TestADedupIDNeedsOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		err := p.Send(w.Context(), godwit.Message{DedupID: "17"})
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), `Message.DedupID is "17"`) {
			t.Errorf("%v", err)
		}
	})
}

// refusing makes the service refuse random entries of a batch with a temporary error, and accept the others.
func (w *world) refusing(r *rand.Rand, chance float64) {
	var mu sync.Mutex
	w.server.Control(sends, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{FailEntries: func(string) *wire.Error {
			mu.Lock()
			defer mu.Unlock()
			if r.Float64() < chance {
				return &wire.Error{Code: "InternalError", Message: "try again", Fault: true}
			}
			return nil
		}}
	})
}

// Messages of one key in separate requests keep their order, whatever is refused. With KeysShareRequests they are ten
// times as fast, all of them arrive, those that were never refused keep their order, and refused ones are late.
func TestOneKeyWithRefusedMessages(t *testing.T) {
	t.Parallel()
	for _, share := range []bool{false, true} {
		for seed := range uint64(10) {
			inWorld(t, func(w *world) {
				p := w.producer("orders", &godwit.ProducerOptions{
					Ordered: true, KeysShareRequests: share,
					RetryFor: time.Hour,
				})
				w.latency(10 * time.Millisecond)
				const n = 200
				clean := seed == 0 // the service refuses nothing
				if !clean {
					w.refusing(rand.New(rand.NewPCG(seed, 7)), 0.1)
				}
				begun := time.Now()
				var results []*godwit.Result
				for i := range n {
					m := body(fmt.Sprint(i))
					m.OrderKey = "ada"
					r, err := p.SendAsync(w.Context(), m)
					if err != nil {
						t.Fatal(err)
					}
					results = append(results, r)
				}
				for _, r := range results {
					if err := r.Wait(w.Context()); err != nil {
						t.Error(err)
					}
				}
				took, late := time.Since(begun), 0
				seen, high := map[int]bool{}, -1
				for _, m := range w.messages("orders.fifo") {
					i, _ := strconv.Atoi(m.Body)
					if seen[i] = true; i < high {
						late++
					}
					high = max(high, i)
				}
				if len(seen) != n {
					t.Errorf("seed %d: %d of %d messages arrived", seed, len(seen), n)
				}
				if refused := int(p.Report().Retried); late > 0 && !share || late > refused {
					t.Errorf("share %v, seed %d: %d messages are late, of %d that were refused", share, seed, late,
						refused)
				}
				if clean {
					calls := map[bool]int{false: n, true: n / 10}[share]
					if got := w.calls(sends); got > calls+1 || took > time.Duration(calls+1)*10*time.Millisecond {
						t.Errorf("share %v: %d requests in %v for %d messages, want %d", share, got, took, n, calls)
					}
				}
			})
		}
	}
}

func TestSharedRequestsNeedAnOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		_, err := godwit.NewProducer(w.Context(), w.backend, "orders", &godwit.ProducerOptions{KeysShareRequests: true})
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "KeysShareRequests") {
			t.Errorf("without an order: %v", err)
		}
		w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		_, err = godwit.NewProducer(w.Context(), ownBatches{w.backend}, "orders",
			&godwit.ProducerOptions{Ordered: true, KeysShareRequests: true})
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "by itself") {
			t.Errorf("on a backend that batches by itself: %v", err)
		}
	})
}

// ownBatches is a backend that batches by itself, like Kafka's.
type ownBatches struct{ driver.Backend }

type ownBatching struct{ driver.Sender }

func (b ownBatches) Sender(ctx context.Context, ch driver.Channel) (driver.Sender, error) {
	s, err := b.Backend.Sender(ctx, ch)
	return ownBatching{s}, err
}

func (ownBatching) Limits() driver.SendLimits { return driver.SendLimits{} }

func TestAMessageWithATime(t *testing.T) {
	inWorld(t, func(w *world) {
		var at []time.Duration
		begin := time.Now()
		c := w.run(w.consumer("orders", nil), func(context.Context, *godwit.Delivery) error {
			at = append(at, time.Since(begin).Truncate(time.Second))
			return nil
		})
		p := w.producer("orders", nil)
		for _, m := range []godwit.Message{{At: begin.Add(10 * time.Minute)}, {At: begin.Add(-time.Hour)}} {
			if err := p.Send(w.Context(), m); err != nil {
				t.Error(err)
			}
		}
		both := godwit.Message{At: begin.Add(time.Minute), Delay: time.Minute}
		if err := p.Send(w.Context(), both); !errors.Is(err, godwit.ErrInvalid) ||
			!strings.Contains(err.Error(), "Message.At") {
			t.Errorf("a message with At and Delay: %v", err)
		}
		time.Sleep(11 * time.Minute)
		c.stop()
		if len(at) != 2 || at[0] != 0 || at[1] != 10*time.Minute {
			t.Errorf("handled after %v", at)
		}
	})
}
