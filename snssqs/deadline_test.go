package snssqs_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// hanging answers nothing, or only a header, after it was switched on.
type hanging struct {
	next    http.RoundTripper
	on      atomic.Bool
	headers bool
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if !h.on.Load() {
		return h.next.RoundTrip(r)
	}
	if !h.headers {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: silence{r.Context()}, Request: r}, nil
}

// silence is a body that never arrives; as in net/http, reading it ends with the request's context.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silence) Close() error { return nil }

var _ io.ReadCloser = silence{}

// Every request has a deadline, also for an answer that stops in its body, with our clients and with the caller's.
func TestEveryRequestHasADeadline(t *testing.T) {
	for _, headers := range []bool{false, true} {
		for _, theirs := range []bool{false, true} {
			inWorld(t, localaws.Options{}, func(w *world) {
				h := &hanging{next: w.server.Transport(), headers: headers}
				o := snssqs.Options{Transport: h}
				if theirs {
					conf := w.conf
					conf.HTTPClient, conf.RetryMaxAttempts = &http.Client{Transport: h}, 7
					o = snssqs.Options{Transport: h, SQS: sqs.NewFromConfig(conf), SNS: sns.NewFromConfig(conf)}
				}
				w.b = w.open(o)
				w.ensure(owner(orders))
				w.ensure(owner(audit))
				s, topic := w.sender(orders), w.sender(driver.Channel{Exchange: "wishlist_events"})
				r := w.receiver(orders, driver.Filter{})
				p, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("x")})
				if err != nil {
					t.Fatal(err)
				}
				w.send(s, driver.Message{Body: []byte("x")})
				d := w.receive(r, 1)[0]
				settle := func(a driver.Action) error {
					return r.Settle(context.Background(), []driver.Settlement{{Handle: d.Handle, Action: a}})
				}
				h.on.Store(true)
				for call, try := range map[string]func() error{
					"send":    func() error { return s.Send(context.Background(), []driver.Prepared{p}) },
					"publish": func() error { return topic.Send(context.Background(), []driver.Prepared{p}) },
					"poll": func() error {
						_, err := r.Receive(context.Background(), driver.Ask{Max: 1}, nil)
						return err
					},
					"delete":  func() error { return settle(driver.Done) },
					"release": func() error { return settle(driver.Release) },
					"reject":  func() error { return settle(driver.Reject) },
					"renew": func() error {
						_, err := r.(driver.Extender).Extend(context.Background(), []driver.Handle{d.Handle},
							time.Minute)
						return err
					},
					"provision": func() error { return w.b.Ensure(context.Background(), owner(audit)) },
					"look":      func() error { _, err := w.b.Inspect(context.Background(), orders); return err },
					"open": func() error {
						_, err := w.b.Sender(context.Background(), driver.Channel{Exchange: "wishlist_events"})
						return err
					},
				} {
					ended := make(chan error, 1)
					begun := time.Now()
					go func() { ended <- try() }()
					select {
					case err := <-ended:
						most := 11 * time.Second
						if call == "provision" {
							most = 40 * time.Second // of several requests
						}
						if took := time.Since(begun); err == nil || driver.ClassOf(err) != driver.Transient ||
							took > most || !strings.Contains(err.Error(), "within 1") {
							t.Errorf("%s, headers %v, theirs %v: %v, of class %s, after %v", call, headers, theirs, err,
								driver.ClassOf(err), took)
						}
					case <-time.After(time.Hour):
						t.Fatalf("%s, headers %v, theirs %v: did not return", call, headers, theirs)
					}
				}
				h.on.Store(false)
				if err := settle(driver.Done); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
