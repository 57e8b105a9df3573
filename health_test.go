package godwit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

// stalling is a transport whose calls of one action of SQS, or of all actions if it is empty, stall while it is on.
type stalling struct {
	next   http.RoundTripper
	action string
	how    func(*http.Request) (*http.Response, error)
	on     atomic.Bool
}

func (s *stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.on.Load() && (s.action == "" || strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+s.action)) {
		return s.how(r)
	}
	return s.next.RoundTrip(r)
}

// stalls are the ways in which a service fails.
var stalls = map[string]func(*http.Request) (*http.Response, error){
	"hangs before the headers": func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"hangs in the body": func(r *http.Request) (*http.Response, error) {
		return answer(r, http.StatusOK, endless{r.Context()}), nil
	},
	"answers 500": func(r *http.Request) (*http.Response, error) {
		return answer(r, http.StatusInternalServerError, http.NoBody), nil
	},
	"throttles": func(r *http.Request) (*http.Response, error) {
		text := `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow down"}`
		return answer(r, http.StatusBadRequest, io.NopCloser(strings.NewReader(text))), nil
	},
}

func answer(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, Request: r}
}

// endless is a body without an end. As in net/http, reading ends with the request's context.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (endless) Close() error { return nil }

// stalledAt returns a backend for which one action stalls.
func (w *world) stalledAt(action, how string) (*snssqs.Backend, *stalling) {
	w.Helper()
	s := &stalling{next: w.server.Transport(), action: action, how: stalls[how]}
	conf := w.sdk()
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &conf, Transport: s, CancelPolls: true})
	if err != nil {
		w.Fatal(err)
	}
	return b, s
}

// Whatever stalls, and in any way, health reports the stage within a minute, and is empty again afterwards.
func TestHealthReportsEveryStall(t *testing.T) {
	t.Parallel()
	done := func(context.Context, *godwit.Delivery) error { return nil }
	for stage, c := range map[string]struct {
		action, tells string
		handler       godwit.Handler
		stalled       func(w *world) // as soon as it stalls
	}{
		"poll":   {"ReceiveMessage", "receiving", done, nil},
		"delete": {"DeleteMessageBatch", "settling done deliveries", done, nil},
		"release": {
			"ChangeMessageVisibilityBatch", "settling releases",
			func(_ context.Context, d *godwit.Delivery) error { return d.Release() }, nil,
		},
		"change visibility": {
			"ChangeMessageVisibilityBatch", "settling retries",
			func(_ context.Context, d *godwit.Delivery) error { return d.Retry(time.Hour) }, nil,
		},
		"renewal": {
			"ChangeMessageVisibilityBatch", "renewing leases",
			func(ctx context.Context, _ *godwit.Delivery) error { <-ctx.Done(); return ctx.Err() }, nil,
		},
		"dead letter": {
			"SendMessageBatch", "settling rejects",
			func(context.Context, *godwit.Delivery) error { return godwit.Permanent(io.EOF) }, nil,
		},
		"provisioning again": {
			"CreateQueue", "provisioning", done,
			func(w *world) { w.deleteChannel("orders", false) },
		},
	} {
		for how := range stalls {
			t.Run(stage+" "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					b, s := w.stalledAt(c.action, how)
					consumer, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
					if err != nil {
						t.Fatal(err)
					}
					p := w.producer("orders", nil)
					var well atomic.Bool
					r := w.run(consumer, func(ctx context.Context, d *godwit.Delivery) error {
						if well.Load() {
							return nil
						}
						return c.handler(ctx, d)
					})
					time.Sleep(time.Minute)
					if h := consumer.Health(); len(h.Unhealthy) > 0 {
						t.Errorf("before: %q", h.Unhealthy)
					}
					s.on.Store(true)
					w.send(p, body("x"))
					if c.stalled != nil {
						c.stalled(w)
					}
					for begun := time.Now(); ; time.Sleep(time.Second) {
						if told := strings.Join(consumer.Health().Unhealthy, "\n"); strings.Contains(told, c.tells) {
							break
						} else if time.Since(begun) >= time.Minute {
							t.Errorf("after a minute health reports %q, want %s", told, c.tells)
							break
						}
					}
					s.on.Store(false)
					well.Store(true)
					time.Sleep(3 * time.Minute)
					if h := consumer.Health(); len(h.Unhealthy) > 0 {
						t.Errorf("afterwards: %q", h.Unhealthy)
					}
					r.stop()
				})
			})
		}
	}
}

func TestAProducersHealthReportsAStall(t *testing.T) {
	t.Parallel()
	for how := range stalls {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(w *world) {
				b, s := w.stalledAt("SendMessageBatch", how)
				p, err := godwit.NewProducer(w.Context(), b, "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				if h := p.Health(); !h.LastSend.IsZero() || len(h.Unhealthy) > 0 {
					t.Errorf("at first: %+v", h)
				}
				w.send(p, body("x"))
				before := p.Health()
				if before.LastSend.IsZero() || len(before.Unhealthy) > 0 {
					t.Errorf("before: %+v", before)
				}
				s.on.Store(true)
				for begun := time.Now(); time.Since(begun) < time.Minute; {
					_ = p.Send(w.Context(), body("x")) // fails after 20 s
				}
				if h := p.Health(); len(h.Unhealthy) == 0 || !strings.Contains(h.Unhealthy[0], "sending") ||
					h.LastSend != before.LastSend {
					t.Errorf("after a minute: %+v", h)
				}
				s.on.Store(false)
				time.Sleep(10 * time.Second) // until the circuit breaker probes again
				w.send(p, body("x"))
				if h := p.Health(); len(h.Unhealthy) > 0 || !h.LastSend.After(before.LastSend) {
					t.Errorf("afterwards: %+v", h)
				}
				if err := p.Close(w.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A few temporary failures do not make the consumer unhealthy, nor does a message that the service refuses.
func TestHealthIgnoresTemporaryFailures(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		b, s := w.stalledAt("DeleteMessageBatch", "throttles")
		consumer, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		p := w.producer("orders", nil)
		r := w.run(consumer, func(context.Context, *godwit.Delivery) error { return nil })
		for i := range 600 { // ten seconds of every minute
			s.on.Store(i%60 < 10)
			w.send(p, body(fmt.Sprint(i)))
			time.Sleep(time.Second)
			if h := consumer.Health(); len(h.Unhealthy) > 0 {
				t.Fatalf("after %d s: %q", i, h.Unhealthy)
			}
		}
		if err := p.Send(w.Context(), godwit.Message{Headers: large()}); err == nil ||
			len(p.Health().Unhealthy) > 0 {
			t.Errorf("a message that is too large: %v, %+v", err, p.Health())
		}
		r.stop()
	})
}

// Consumers whose handlers are busy, or which have few busy keys, are healthy: the messages behind others of their key
// take no places.
func TestBusyKeysAreHealthy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    godwit.ConsumerOptions
		keys int
	}{
		"two busy keys":    {godwit.ConsumerOptions{Ordered: true, ProcessingTimeout: 30 * time.Minute}, 2},
		"busy handlers":    {godwit.ConsumerOptions{Ordered: true, ProcessingTimeout: 30 * time.Minute}, 30},
		"without an order": {godwit.ConsumerOptions{ProcessingTimeout: 30 * time.Minute}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := c.o
				consumer := w.consumer("orders", &o)
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: o.Ordered})
				for i := range 60 {
					m := body(fmt.Sprint(i))
					if o.Ordered {
						// SQS delivers more messages of a key only when those before are settled
						m.OrderKey = fmt.Sprint(i / (60 / c.keys))
					}
					w.send(p, m)
				}
				r := w.run(consumer,
					func(ctx context.Context, _ *godwit.Delivery) error { <-ctx.Done(); return ctx.Err() })
				time.Sleep(110 * time.Second)
				if told := consumer.Health().Unhealthy; len(told) > 0 {
					t.Errorf("health reports %q", told)
				}
				r.stop()
			})
		})
	}
}
