package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// expiries notes which messages were handled, and which have expired.
type expiries struct {
	mu      sync.Mutex
	handled []string
	expired []string
}

func (e *expiries) handle(_ context.Context, d *godwit.Delivery) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handled = append(e.handled, string(d.Body))
	return nil
}

func (e *expiries) hook(d *godwit.Delivery) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expired = append(e.expired, string(d.Body))
}

func (e *expiries) want(w *world, handled, expired string) {
	w.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if h, x := strings.Join(e.handled, " "), strings.Join(e.expired, " "); h != handled || x != expired {
		w.Errorf("handled %q, expired %q; want %q, %q", h, x, handled, expired)
	}
}

func expiring(text, key string, after time.Duration) godwit.Message {
	return godwit.Message{Body: []byte(text), OrderKey: key, Expires: after}
}

// A message that has expired is not handled: it is discarded, or a dead letter with the reason. The others of its key
// go on, and the earlier of Expires and MaxAge counts.
func TestExpiredMessagesAreNotHandled(t *testing.T) {
	for _, rejects := range []bool{false, true} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("rejects %v, ordered %v", rejects, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) { notHandled(w, rejects, ordered) })
			})
		}
	}
}

func notHandled(w *world, rejects, ordered bool) {
	var seen expiries
	var starts, ends int
	o := &godwit.ConsumerOptions{
		Ordered: ordered, Concurrency: 1, MaxAge: time.Hour, DeadLetterExpired: rejects,
		Hooks: godwit.Hooks{
			Expired: seen.hook, Started: func(*godwit.Delivery) { starts++ },
			Ended: func(*godwit.Delivery, godwit.Verdict, error, time.Duration) { ends++ },
		},
	}
	c := w.consumer("orders", o)
	p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
	w.send(p, expiring("old", "ada", 0))
	time.Sleep(50 * time.Minute)
	w.send(p, expiring("soon", "ada", time.Minute), expiring("late", "ada", 2*time.Hour))
	w.send(p, expiring("for-good", "ada", 0))
	time.Sleep(15 * time.Minute)
	run := w.run(c, seen.handle)
	time.Sleep(5 * time.Minute)
	r := run.stop()
	seen.want(w, "late for-good", "old soon")
	if r.Expired != 2 || starts != 2 || ends != 2 {
		w.Errorf("%d starts, %d ends: %+v; want 2, 2, and two expired", starts, ends, r)
	}
	if rejects != (r.Rejected == 2) || rejects == (r.Dropped == 2) {
		w.Errorf("rejected %d, dropped %d", r.Rejected, r.Dropped)
	}
	if !rejects {
		return
	}
	letters := w.consumer("orders@dlq", &godwit.ConsumerOptions{Concurrency: 1})
	var deaths []string
	again := w.run(letters, func(_ context.Context, d *godwit.Delivery) error {
		died := fmt.Sprintf("%s %s %d %v", d.Body, d.Death.Kind, d.Death.Attempts, d.ExpiresAt.IsZero())
		deaths = append(deaths, died)
		return nil
	})
	time.Sleep(time.Minute)
	again.stop()
	if slices.Sort(deaths); !slices.Equal(deaths, []string{"old expired 0 true", "soon expired 0 true"}) {
		w.Errorf("dead letters: %q", deaths)
	}
}

// A retry that would begin after the expiry is the expiry, whether a policy or a method of the delivery has chosen it.
func TestARetryAfterTheExpiry(t *testing.T) {
	for name, fail := range map[string]func(d *godwit.Delivery) error{
		"policy": func(*godwit.Delivery) error { return godwit.RetryAfter(2*time.Minute, errors.New("not today")) },
		"method": func(d *godwit.Delivery) error { return d.Retry(2 * time.Minute) },
	} {
		for _, rejects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, rejects %v", name, rejects), func(t *testing.T) {
				inWorld(t, func(w *world) {
					var seen expiries
					var death godwit.Death
					starts := 0
					c := w.consumer("orders", &godwit.ConsumerOptions{
						DeadLetterExpired: rejects, MaxAttempts: 10, Hooks: godwit.Hooks{
							Expired:    seen.hook,
							DeadLetter: func(_ *godwit.Delivery, d godwit.Death) { death = d },
						},
					})
					w.send(w.producer("orders", nil), expiring("x", "", 5*time.Minute))
					run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
						starts++
						return fail(d)
					})
					time.Sleep(4*time.Minute + 30*time.Second)
					seen.want(w, "", "x") // after 4 min, when the third attempt has failed
					r := run.stop()
					if starts != 3 || r.Expired != 1 || rejects != (death.Kind == "expired" && death.Attempts == 3) {
						w.Errorf("%d starts, death %+v: %+v", starts, death, r)
					}
				})
			})
		}
	}
}

// What is held without an attempt expires, too, and its handler is not called again.
func TestAHeldMessageExpires(t *testing.T) {
	inWorld(t, func(w *world) {
		var seen expiries
		c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{Expired: seen.hook}})
		w.send(w.producer("orders", nil), expiring("x", "", time.Minute))
		starts := 0
		run := w.run(c, func(context.Context, *godwit.Delivery) error {
			starts++
			return godwit.HoldFor(40*time.Second, errors.New("down"))
		})
		time.Sleep(5 * time.Minute)
		if r := run.stop(); starts != 2 || r.Expired != 1 || r.Dropped != 1 {
			w.Errorf("%d starts: %+v", starts, r)
		}
		seen.want(w, "", "x")
	})
}

// A batch and an iteration do not have what has expired. Behind a dead letter in its lane, a message comes after it.
func TestExpiredMessagesOfABatch(t *testing.T) {
	for _, rejects := range []bool{false, true} {
		t.Run(fmt.Sprintf("rejects %v", rejects), func(t *testing.T) {
			inWorld(t, func(w *world) {
				var seen expiries
				c := w.consumer("orders", &godwit.ConsumerOptions{
					Ordered: true, DeadLetterExpired: rejects, Hooks: godwit.Hooks{Expired: seen.hook},
				})
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
				w.send(p, expiring("1", "ada", 0), expiring("2", "ada", time.Minute), expiring("3", "ada", 0))
				time.Sleep(2 * time.Minute)
				ctx, cancel := context.WithCancel(w.Context())
				done := make(chan godwit.Report, 1)
				go func() {
					r, err := c.RunBatches(ctx, func(ctx context.Context, ds []*godwit.Delivery) error {
						for _, d := range ds {
							_ = seen.handle(ctx, d)
						}
						clear(ds)
						return nil
					}, &godwit.BatchOptions{Size: 10, Window: time.Second})
					if err != nil {
						t.Error(err)
					}
					done <- r
				}()
				time.Sleep(time.Minute)
				cancel()
				if r := <-done; r.Expired != 1 || r.Leaked != 0 || r.Handled+r.Rejected != 3 {
					t.Errorf("%+v", r)
				}
				seen.want(w, "1 3", "2")
			})
		})
	}
}

// The messages behind a failed one of a batch are delivered again, also if the failed one is not, because it expires
// before its retry, or because the policy drops it: the handler may not have got to them.
func TestBehindAFailedMessageThatIsGone(t *testing.T) {
	late := errors.New("not today")
	for name, c := range map[string]struct {
		expires time.Duration
		fail    func(d *godwit.Delivery) error
	}{
		"expires before its retry": {
			expires: time.Minute, fail: func(*godwit.Delivery) error { return godwit.RetryAfter(time.Hour, late) },
		},
		"retries by method": {
			expires: time.Minute, fail: func(d *godwit.Delivery) error { return d.Retry(time.Hour) },
		},
		"is dropped": {fail: func(*godwit.Delivery) error { return late }},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := &godwit.ConsumerOptions{Ordered: true}
				if c.expires == 0 {
					o.Policy = func(*godwit.Delivery, error) godwit.Verdict {
						return godwit.Verdict{Action: godwit.ActionDrop}
					}
				}
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
				w.send(p, expiring("1", "ada", c.expires), expiring("2", "ada", 0), expiring("3", "ada", 0))
				var seen expiries
				ctx, cancel := context.WithCancel(w.Context())
				defer cancel()
				done := make(chan godwit.Report, 1)
				consumer := w.consumer("orders", o)
				go func() {
					r, err := consumer.RunBatches(ctx, func(ctx context.Context, ds []*godwit.Delivery) error {
						for i, d := range ds {
							if string(d.Body) != "1" {
								_ = seen.handle(ctx, d)
							} else if err := c.fail(d); err != nil {
								return &godwit.HandleBatchError{Errs: map[int]error{i: err}} // and stops here
							} else {
								return nil
							}
						}
						return nil
					}, &godwit.BatchOptions{Size: 10, Window: time.Second})
					if err != nil {
						t.Error(err)
					}
					done <- r
				}()
				time.Sleep(10 * time.Minute)
				cancel()
				if r := <-done; r.Dropped != 1 || r.Handled != 3 || r.Leaked != 0 {
					t.Errorf("%+v", r)
				}
				seen.want(w, "2 3", "")
			})
		})
	}
}

func TestExpiredMessagesOfAnIteration(t *testing.T) {
	inWorld(t, func(w *world) {
		var seen expiries
		c := w.consumer("orders", &godwit.ConsumerOptions{
			DeadLetterExpired: true, Hooks: godwit.Hooks{Expired: seen.hook},
		})
		p := w.producer("orders", nil)
		w.send(p, expiring("late", "", time.Minute), expiring("retried", "", 10*time.Minute))
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		for d, err := range c.Deliveries(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			_ = seen.handle(ctx, d)
			if err := d.Retry(time.Hour); err != nil {
				t.Error(err)
			}
		}
		r, err := c.Close(w.Context())
		if err != nil || r.Expired != 2 || r.Rejected != 2 || r.Leaked != 0 {
			t.Errorf("%v: %+v", err, r)
		}
		seen.want(w, "retried", "late retried")
		w.visible("orders--dlq", 2)
	})
}

// A forwarded message keeps its expiry, which counts from the first acceptance.
func TestAForwardedMessageExpiresAsTheOriginal(t *testing.T) {
	inWorld(t, func(w *world) {
		at := map[string]time.Time{}
		note := func(_ context.Context, d *godwit.Delivery) error {
			at[d.Channel] = d.ExpiresAt
			return nil
		}
		next := w.producer("invoices", nil)
		first := w.consumer("orders", nil)
		second := w.consumer("invoices", &godwit.ConsumerOptions{MaxAge: 24 * time.Hour})
		w.send(w.producer("orders", nil), expiring("x", "", time.Hour))
		time.Sleep(20 * time.Minute)
		one := w.run(first, func(ctx context.Context, d *godwit.Delivery) error {
			return errors.Join(note(ctx, d), next.Send(ctx, d.Forward()))
		})
		two := w.run(second, note)
		time.Sleep(time.Minute)
		one.stop()
		two.stop()
		if len(at) != 2 || !at["orders"].Equal(at["invoices"]) {
			t.Errorf("they expire at %v", at)
		}
	})
}

func TestImpossibleExpiries(t *testing.T) {
	inWorld(t, func(w *world) {
		w.consumer("orders", nil)
		p := w.producer("orders", nil)
		for _, m := range []godwit.Message{
			{Expires: -time.Second},
			{Expires: time.Millisecond},
			{Expires: time.Minute, Delay: time.Minute},
			{Expires: time.Minute, At: time.Now().Add(time.Minute)},
		} {
			err := p.Send(w.Context(), m)
			if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "Message.Expires") {
				t.Errorf("%v after a delay of %v: %v", m.Expires, m.Delay, err)
			}
		}
		for channel, o := range map[string]godwit.ConsumerOptions{
			"a":          {MaxAge: -time.Hour},
			"b":          {MaxAge: time.Millisecond},
			"c":          {MaxAge: time.Minute, Delay: time.Minute},
			"d":          {DeadLetterExpired: true, NoDeadLetters: true},
			"orders@dlq": {MaxAge: time.Hour},
		} {
			if _, err := godwit.NewConsumer(w.Context(), w.backend, channel, &o); !errors.Is(err, godwit.ErrInvalid) {
				t.Errorf("%s: %v", channel, err)
			}
		}
	})
}
