package localconsole

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/ops"
)

// bar is what the console of a namespace does with the server.
type bar struct {
	server *localaws.Server
	b      driver.Backend
	*injection
}

// injection is the fault that is injected. The consoles of all namespaces share it, because the server does.
type injection struct {
	mu       sync.Mutex
	injected string
	remove   func()
}

// Send sends a message, and creates the channel if it does not exist.
func (e *bar) Send(ctx context.Context, channel string, body []byte) error {
	var o godwit.ProducerOptions
	if found, err := ops.Find(ctx, e.b, channel); err == nil {
		o.Ordered = found.Channel.Ordered
	}
	p, err := godwit.NewProducer(ctx, e.b, channel, &o)
	if err != nil {
		return err
	}
	return errors.Join(p.Send(ctx, godwit.Message{Body: body}), p.Close(ctx))
}

// Advance moves the clock.
func (e *bar) Advance(d time.Duration) { e.server.Advance(d) }

// faultNames are the faults, with the actions that they are about.
func faultNames() (names []string, actions map[string]string) {
	return []string{"every call is slow", "sends fail", "receives fail", "deletes fail"}, map[string]string{
		"every call is slow": "*", "sends fail": "sqs.SendMessage", "receives fail": "sqs.ReceiveMessage",
		"deletes fail": "sqs.DeleteMessage",
	}
}

// Faults are the faults that can be injected.
func (e *bar) Faults() []string {
	names, _ := faultNames()
	return names
}

// Inject injects a fault, in the place of the last one.
func (e *bar) Inject(fault string) error {
	_, actions := faultNames()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.remove != nil {
		e.remove()
		e.remove = nil
	}
	if e.injected = fault; fault == "" {
		return nil
	}
	action := actions[fault]
	outcome := localaws.Outcome{Err: &wire.Error{
		Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Fault: true,
		Message: "The console injects this fault: " + fault + ".",
	}}
	if action == "*" {
		outcome = localaws.Outcome{Delay: time.Second}
	}
	e.remove = e.server.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		if r.Is(action) || r.Is(action+"Batch") {
			return outcome
		}
		return localaws.Outcome{}
	})
	return nil
}

// Injected is the fault that is injected.
func (e *bar) Injected() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.injected
}

// Reset deletes everything.
func (e *bar) Reset() { e.server.Reset() }
