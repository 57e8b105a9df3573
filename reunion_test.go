package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// process returns a new backend on the world's server.
func (w *world) process() driver.Backend {
	w.Helper()
	conf := w.sdk()
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &conf, Transport: w.server.Transport(), CancelPolls: true})
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// A server that loses all its resources while programs run loses nothing that is sent afterwards. The producer waits
// until every consumer whose queue it knew has created it again.
func TestNothingIsSentToDeletedQueues(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		for _, alone := range []bool{false, true} {
			t.Run(fmt.Sprintf("ordered %v, a process each %v", ordered, alone), func(t *testing.T) {
				inWorld(t, func(w *world) {
					backend := func() driver.Backend {
						if alone {
							return w.process()
						}
						return w.backend
					}
					p, err := godwit.NewProducer(w.Context(), backend(), "events.*",
						&godwit.ProducerOptions{Ordered: ordered})
					if err != nil {
						t.Fatal(err)
					}
					handled := map[string]*diary{"audit": {}, "mail": {}}
					for queue, diary := range handled {
						c, err := godwit.NewConsumer(w.Context(), backend(), "events."+queue,
							&godwit.ConsumerOptions{Ordered: ordered})
						if err != nil {
							t.Fatal(err)
						}
						run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { diary.note(d); return nil })
						defer run.stop()
					}
					var mu sync.Mutex
					accepted := map[string]bool{}
					var sends sync.WaitGroup
					send := func(name string) {
						sends.Go(func() {
							m := body(name)
							m.OrderKey = name
							if err := p.Send(w.Context(), m); err == nil {
								mu.Lock()
								accepted[name] = true
								mu.Unlock()
							}
						})
					}
					for i := range 5 {
						send(fmt.Sprint("before ", i))
						time.Sleep(time.Second)
					}
					for round := range 3 {
						sends.Wait()
						time.Sleep(time.Minute)
						w.server.Reset()
						for i := range 30 {
							send(fmt.Sprint("round ", round, " message ", i))
							time.Sleep(time.Duration(i) * 10 * time.Millisecond)
						}
					}
					sends.Wait()
					time.Sleep(10 * time.Minute)
					if len(accepted) != 95 {
						t.Errorf("%d of 95 messages were accepted within RetryFor", len(accepted))
					}
					for queue, d := range handled {
						got := map[string]bool{}
						for _, name := range d.all() {
							got[name] = true
						}
						lost := 0
						for name := range accepted {
							if !got[name] {
								lost++
							}
						}
						if lost > 0 {
							t.Errorf("%d of %d messages that were accepted never reached %s", lost, len(accepted),
								queue)
						}
					}
					if err := p.Close(w.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A queue that is created again accepts messages of its topic as soon as a producer can see it, and not only when all
// its attributes are set. The producer creates the topic, and the queue's policy does not refuse its messages.
func TestAQueueLetsItsTopicSendFromTheBeginning(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			p := w.producer("events.*", &godwit.ProducerOptions{Ordered: ordered})
			c := w.consumer("events.audit", &godwit.ConsumerOptions{Ordered: ordered})
			var got diary
			run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { got.note(d); return nil })
			w.send(p, body("before"))
			time.Sleep(time.Minute)
			w.server.Reset()
			w.server.Control("sqs.SetQueueAttributes", func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Delay: 2 * time.Second}
			})
			var sends sync.WaitGroup
			for range 50 { // one of them creates the topic as soon as the queue exists
				sends.Go(func() {
					if err := p.Send(w.Context(), body(fmt.Sprint("while it is made ", time.Now()))); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(100 * time.Millisecond)
			}
			sends.Wait()
			time.Sleep(time.Minute)
			run.stop()
			if n := len(got.all()); n != 51 {
				t.Errorf("ordered %v: %d of 51 messages that were accepted arrived", ordered, n)
			}
		})
	}
}

// Producers wait for missing consumers within RetryFor, and for five minutes in total. Then they send to the
// subscriptions that exist.
func TestASendNamesTheSubscriptionsThatAreMissing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.consumer("events.audit", nil)
		w.consumer("events.mail", nil)
		p := w.producer("events.*", nil)
		if err := p.Send(w.Context(), body("all is well")); err != nil {
			t.Fatal(err)
		}
		w.server.Reset()
		begun := time.Now()
		err := p.Send(w.Context(), body("nobody there"))
		var e *godwit.Error
		if !errors.As(err, &e) ||
			!strings.Contains(err.Error(), "2 of its 2 subscriptions are missing (events--audit, events--mail)") ||
			time.Since(begun) < 20*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		w.consumer("events.mail", nil) // starts again, with the topic
		if err := p.Send(w.Context(), body("one there")); err == nil ||
			!strings.Contains(err.Error(), "1 of its 2 subscriptions are missing (events--audit)") {
			t.Errorf("with one of two: %v", err)
		}
		if n := len(w.messages("events--mail")); n > 0 {
			t.Errorf("%d messages were sent that were answered with an error", n)
		}
		time.Sleep(5*time.Minute - time.Since(begun))
		if err := p.Send(w.Context(), body("as it is")); err != nil {
			t.Error(err)
		}
		if n := len(w.messages("events--mail")); n != 1 {
			t.Errorf("%d messages are in the existing queue, want the last one", n)
		}
		w.server.Reset()
		if err := p.Send(w.Context(), body("no subscriptions were known")); err == nil ||
			!strings.Contains(err.Error(), "1 of its 1") {
			t.Errorf("the next time: %v", err)
		}
	})
}

// While a topic is being created again, and its subscriptions are still missing, nothing else is sent to it, also by a
// producer that may not list the subscriptions.
func TestNothingIsSentToATopicThatIsBeingCreated(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		inWorld(t, func(w *world) {
			if blind {
				w.server.Control("sns.ListSubscriptionsByTopic", func(context.Context,
					*localaws.Request,
				) localaws.Outcome {
					return localaws.Outcome{Err: &wire.Error{Code: "AuthorizationError", Message: "no", Status: 403}}
				})
			}
			c := w.consumer("events.audit", nil)
			p, other := w.producer("events.*", nil), w.producer("events.*", nil)
			w.send(p, body("before"))
			w.deleteChannel("events.*", false)
			w.server.Control("sns.Subscribe", func(context.Context,
				*localaws.Request,
			) localaws.Outcome {
				return localaws.Outcome{Delay: time.Second}
			})
			w.server.Control("sns.PublishBatch", func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Delay: 100 * time.Millisecond} // some are in flight when the topic is created
			})
			var sends sync.WaitGroup
			for i := range 20 {
				for _, p := range []*godwit.Producer{p, other} {
					sends.Go(func() {
						if err := p.Send(w.Context(), body(fmt.Sprint(i))); err != nil {
							t.Error(err)
						}
					})
				}
				pause := 70 * time.Millisecond // shorter than a publish
				if i >= 5 {
					pause = 150 * time.Millisecond // none is in flight in between
				}
				time.Sleep(pause)
			}
			sends.Wait()
			var got diary
			run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { got.note(d); return nil })
			time.Sleep(time.Minute)
			run.stop()
			if n := len(got.all()); n != 41 {
				t.Errorf("blind %v: %d of 41 messages that were accepted arrived", blind, n)
			}
		})
	}
}
