package ops_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/ops"
)

// hanging is a backend whose server answers nothing from some time on.
type hanging struct {
	*morgue
	server *localaws.Server
}

// Hang makes the server answer nothing.
func (h *hanging) Hang() {
	h.server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: time.Hour}
	})
}

func newHanging(t *testing.T) *hanging {
	m, b := newSQS(t, orders)
	h := &hanging{morgue: m, server: b.Server()}
	h.put(orders, letter("", "x"))
	h.reject(orders, refused)
	h.put(orders, letter("", strings.Repeat("large ", 1<<16)))
	return h
}

// unanswering is a transport of webhooks that get no answer.
type unanswering struct{}

func (unanswering) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// result is a call whose result does not matter.
func result[T any](_ T, err error) error { return err }

// Every function of the package that takes a context ends with it, although the service answers nothing.
func TestContextsEnd(t *testing.T) {
	type (
		ctx   = context.Context
		cases = contexts.Cases[*hanging]
	)
	// simple is a case without preparation.
	simple := func(call func(c ctx, b driver.Backend) error) func(h *hanging) func(ctx) error {
		return func(h *hanging) func(ctx) error { return func(c ctx) error { return call(c, h.Backend) } }
	}
	notice := &driver.Notice{Title: "x", Items: []driver.NoticeItem{{}}}
	contexts.Check(t, ".", newHanging, cases{
		"Find": simple(func(c ctx, b driver.Backend) error { return result(ops.Find(c, b, "orders")) }),
		"Tail": simple(func(c ctx, b driver.Backend) error {
			return ops.Tail(c, b, "orders", nil, func([]ops.Entry) error { return nil })
		}),
		"List":   simple(func(c ctx, b driver.Backend) error { return result(ops.List(c, b, nil)) }),
		"Demand": simple(func(c ctx, b driver.Backend) error { return result(ops.Demand(c, b, nil)) }),
		"DemandOf": simple(func(c ctx, b driver.Backend) error {
			return result(ops.DemandOf(c, b, "orders", nil))
		}),
		"Pause":  simple(func(c ctx, b driver.Backend) error { return result(ops.Pause(c, b, "orders", nil)) }),
		"Resume": simple(func(c ctx, b driver.Backend) error { return result(ops.Resume(c, b, "orders", nil)) }),
		"Peek": simple(func(c ctx, b driver.Backend) error {
			return result(ops.Peek(c, service{b}, "orders", &ops.PeekOptions{Receive: true}))
		}),
		"Purge":  simple(func(c ctx, b driver.Backend) error { return result(ops.Purge(c, b, "orders", nil)) }),
		"Remove": simple(func(c ctx, b driver.Backend) error { return result(ops.Remove(c, b, "orders", nil)) }),
		"Rewind": simple(func(c ctx, b driver.Backend) error { return result(ops.Rewind(c, b, "orders", nil)) }),
		"Requeue": simple(func(c ctx, b driver.Backend) error {
			return result(ops.Requeue(c, b, "orders@dlq", nil))
		}),
		"Orphans": simple(func(c ctx, b driver.Backend) error { return result(ops.Orphans(c, b, nil)) }),
		"Export": simple(func(c ctx, b driver.Backend) error {
			return result(ops.Export(c, service{b}, "orders", io.Discard, &ops.ExportOptions{Receive: true}))
		}),
		"Import": func(h *hanging) func(ctx) error {
			var file strings.Builder
			if _, err := ops.Export(h.Context(), h.Backend, "orders", &file, nil); err != nil {
				h.Fatal(err)
			}
			return func(c ctx) error {
				return result(ops.Import(c, h.Backend, "orders", strings.NewReader(file.String()), nil))
			}
		},
		"Entry.Content": func(h *hanging) func(ctx) error {
			es, err := ops.Peek(h.Context(), h.Backend, "orders", nil)
			if err != nil || len(es) == 0 {
				h.Fatalf("%d entries, %v", len(es), err)
			}
			return func(c ctx) error { return result(es[0].Content(c)) }
		},
		"Selection.Selects": func(h *hanging) func(ctx) error {
			es, err := ops.Peek(h.Context(), h.Backend, "orders", nil)
			if err != nil || len(es) == 0 {
				h.Fatalf("%d entries, %v", len(es), err)
			}
			s := ops.Selection{Body: func([]byte) (bool, error) { return true, nil }}
			return func(c ctx) error { return result(s.Selects(c, &es[0], time.Now())) }
		},
		"Discard": simple(func(c ctx, b driver.Backend) error {
			return result(ops.Discard(c, b, "orders@dlq", &ops.DiscardOptions{
				Select: ops.Selection{Kinds: []string{"exhausted"}},
			}))
		}),
		"Sweep": simple(func(c ctx, b driver.Backend) error { return result(ops.Sweep(c, b, nil)) }),
		"Undo": simple(func(c ctx, b driver.Backend) error {
			return result(ops.Undo(c, b, []byte(`{"resource":{"kind":"queue","name":"gone"}}`+"\n")))
		}),
		"Alerts.Run": func(h *hanging) func(ctx) error {
			a := h.alerts()
			return a.Run
		},
		"Alerts.Once": func(h *hanging) func(ctx) error {
			a := h.alerts()
			return func(c ctx) error { return result(a.Once(c, 0)) }
		},
		"Sampler.Watch": func(h *hanging) func(ctx) error {
			s, err := ops.NewSampler(h.Backend, nil)
			if err != nil {
				h.Fatal(err)
			}
			return func(c ctx) error {
				for range s.Watch(c) {
				}
				return nil
			}
		},
		"Slack.Notify": func(h *hanging) func(ctx) error {
			s, err := ops.NewSlack(ops.SlackOptions{URL: "https://hooks.slack.com/services/x", Transport: unanswering{}})
			if err != nil {
				h.Fatal(err)
			}
			return func(c ctx) error { return s.Notify(c, notice) }
		},
		"Webhook.Notify": func(h *hanging) func(ctx) error {
			w, err := ops.NewWebhook(ops.WebhookOptions{
				URL: "https://host/path", Secret: make([]byte, 64), Transport: unanswering{},
			})
			if err != nil {
				h.Fatal(err)
			}
			return func(c ctx) error { return w.Notify(c, notice) }
		},
		"StateJournal.Append": func(*hanging) func(ctx) error {
			j := ops.StateJournal{State: unread{}}
			return func(c ctx) error { return j.Append(c, []byte("x")) }
		},
	}, map[string]string{
		"CheckHealth":           "one request of net/http, with the context",
		"WriterNotifier.Notify": "it only writes",
		"FileState.Load":        "it is a file",
		"FileState.Store":       "it is a file",
		"FileJournal.Append":    "it is a file",
	})
}

// alerts are alerts that tell a webhook without an answer.
func (h *hanging) alerts() *ops.Alerts {
	h.Helper()
	a, err := ops.NewAlerts(h.Backend, &ops.AlertsOptions{
		Routes: []ops.Route{{Name: "all", To: ops.NewWriterNotifier(io.Discard)}},
	})
	if err != nil {
		h.Fatal(err)
	}
	return a
}

// unread is a state that answers when its caller's context ends.
type unread struct{}

func (unread) Load(c context.Context) ([]byte, string, error) {
	<-c.Done()
	return nil, "", context.Cause(c)
}

func (unread) Store(context.Context, []byte, string) error { return errors.New("unused") }
