package godwittest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Calls are a kind of calls that the application makes to the service.
type Calls string

const (
	Sends    Calls = "sends"    // of producers; a dead letter is a send to orders@dlq
	Receives Calls = "receives" // polls that begin; one that waits already is not touched
	Verdicts Calls = "verdicts" // what becomes of deliveries: done, retried, given back; and leases that are renewed
)

func (c Calls) actions() []string {
	switch c {
	case Sends:
		return []string{"sqs.SendMessage", "sqs.SendMessageBatch", "sns.Publish", "sns.PublishBatch"}
	case Receives:
		return []string{"sqs.ReceiveMessage"}
	case Verdicts:
		return []string{
			"sqs.DeleteMessage", "sqs.DeleteMessageBatch", "sqs.ChangeMessageVisibility",
			"sqs.ChangeMessageVisibilityBatch",
		}
	}
	return nil
}

// Fault is something that the service does to the application, until it has happened as often as it should or is lifted. A
// test at whose end a fault has never happened fails: it has not tried what it seems to.
type Fault struct {
	text   string
	left   atomic.Int64 // calls to come
	hits   atomic.Int64
	unseen bool // whether it happens cannot be seen
	remove []func()
}

// always is more often than any test calls.
const always = 1 << 60

// String says what the fault is.
func (f *Fault) String() string { return f.text }

// Lift ends the fault. All faults are lifted before the end of a test stops its consumers.
func (f *Fault) Lift() {
	for _, remove := range f.remove {
		remove()
	}
}

func (f *Fault) happened() bool { return f.unseen || f.hits.Load() > 0 }

// take says whether this call is one of those to fail.
func (f *Fault) take() bool {
	if f.left.Add(-1) < 0 {
		return false
	}
	f.hits.Add(1)
	return true
}

// Throttle refuses the next n calls, as too many.
func (h *Harness) Throttle(c Calls, channel string, n int) *Fault {
	h.t.Helper()
	refusal := &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}
	return h.fault(fmt.Sprintf("throttle the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{Err: refusal})
}

// Fail answers the next n calls with an internal error of the service; nothing takes effect.
func (h *Harness) Fail(c Calls, channel string, n int) *Fault {
	h.t.Helper()
	failure := &wire.Error{
		Code: "InternalError", Message: "We encountered an internal error. Please try again.",
		Status: 500, Fault: true,
	}
	return h.fault(fmt.Sprintf("fail the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{Err: failure})
}

// LoseAnswers breaks the connection of the next n calls after they took effect: what was sent is there, and nobody knows;
// what was received is nobody's until its lease ends.
func (h *Harness) LoseAnswers(c Calls, channel string, n int) *Fault {
	h.t.Helper()
	return h.fault(fmt.Sprintf("lose the answers of the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{DropAfter: true})
}

// Deny refuses calls for want of a permission, until it is lifted.
func (h *Harness) Deny(c Calls, channel string) *Fault {
	h.t.Helper()
	refusal := &wire.Error{
		Code: "AccessDeniedException", Query: "AccessDenied",
		Message: "Access to the resource is denied.", Status: 403,
	}
	return h.fault(fmt.Sprintf("deny %s of %s", c, channel), c, channel, always, localaws.Outcome{Err: refusal})
}

// Outage breaks the connection of every call for a while of the server's time, without taking effect. Polls that wait already
// go on.
func (h *Harness) Outage(d time.Duration) *Fault {
	f := &Fault{text: fmt.Sprintf("an outage of %v", d)}
	over := h.Now().Add(d)
	f.remove = append(f.remove,
		h.aws("an outage").server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
			if !h.Now().Before(over) {
				return localaws.Outcome{}
			}
			f.hits.Add(1)
			return localaws.Outcome{Drop: true}
		}))
	return h.inject(f)
}

// Duplicates lets a share of a channel's deliveries, 0 to 1, be delivered again while they are handled, as unordered channels
// may. Which ones, the seed of the server decides. The channel must have been made, by its consumer or a producer.
func (h *Harness) Duplicates(channel string, share float64) *Fault {
	h.t.Helper()
	q := h.aws("duplicates").queue(channel)
	switch {
	case q == nil:
		h.t.Fatalf("duplicates of %s: it has no queue yet: make its consumer first", channel)
	case q.FIFO():
		h.t.Fatalf("duplicates of %s: an ordered channel delivers nothing twice while it is handled; lose the "+
			"answers of its verdicts instead", channel)
	case share < 0 || share > 1:
		h.t.Fatalf("duplicates of %s: a share of %v: it must lie between 0 and 1", channel, share)
	}
	q.Chaos(queue.Chaos{Duplicate: share})
	return h.inject(&Fault{
		text: "duplicates of " + channel, unseen: true,
		remove: []func(){func() { q.Chaos(queue.Chaos{}) }},
	})
}

func (h *Harness) fault(text string, c Calls, channel string, n int, what localaws.Outcome) *Fault {
	h.t.Helper()
	if n < 1 {
		h.t.Fatalf("%s: it must happen at least once", text)
	}
	if c.actions() == nil {
		h.t.Fatalf("%s: there are Sends, Receives and Verdicts", text)
	}
	server := h.aws(text).server
	f := &Fault{text: text}
	f.left.Store(int64(n))
	for _, action := range c.actions() {
		f.remove = append(f.remove,
			server.Control(action, func(_ context.Context, r *localaws.Request) localaws.Outcome {
				if !h.concerns(r, channel) || !f.take() {
					return localaws.Outcome{}
				}
				return what
			}))
	}
	return h.inject(f)
}

func (h *Harness) inject(f *Fault) *Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, f)
	return f
}

// concerns says whether a call is about a channel: its queue or, for wishlist_events.*, its exchange.
func (h *Harness) concerns(r *localaws.Request, channel string) bool {
	target := target(r.Input)
	name := h.aws("a fault").channelOf(target[strings.LastIndexAny(target, "/:")+1:])
	if r.Service == "sns" {
		name += ".*"
	}
	return name == channel
}

// target is the URL or the ARN that a call names. Inputs have no interface for it: they are the wire's.
func target(input any) string {
	v := reflect.Indirect(reflect.ValueOf(input))
	for _, name := range []string{"QueueURL", "TopicArn", "TargetArn"} {
		switch f := reflect.Indirect(v.FieldByName(name)); {
		case f.IsValid() && f.Kind() == reflect.String && f.String() != "":
			return f.String()
		}
	}
	return ""
}
