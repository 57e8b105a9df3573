package godwittest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Calls is a kind of call from the application to the service.
type Calls string

const (
	Sends    Calls = "sends"    // of producers; a dead letter is sent to orders@dlq
	Receives Calls = "receives" // new polls; a poll that already waits is not affected
	Verdicts Calls = "verdicts" // settlements and renewals of leases
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

// Fault is an error that the service causes, until it has happened the requested number of times or is lifted. If a
// fault has not happened when the test ends, the test fails, because it does not test what it claims to.
type Fault struct {
	text   string
	left   atomic.Int64 // number of calls that will still fail
	hits   atomic.Int64
	unseen bool // the harness cannot see whether the fault happens
	remove []func()
}

// always is more calls than any test makes.
const always = 1 << 60

// String describes the fault.
func (f *Fault) String() string { return f.text }

// Lift ends the fault. All faults are lifted before the end of a test stops its consumers.
func (f *Fault) Lift() {
	for _, remove := range f.remove {
		remove()
	}
}

func (f *Fault) happened() bool { return f.unseen || f.hits.Load() > 0 }

// take reports whether this call should fail.
func (f *Fault) take() bool {
	if f.left.Add(-1) < 0 {
		return false
	}
	f.hits.Add(1)
	return true
}

// faults are those that a test injects.
type faults struct {
	*view
	mu  sync.Mutex
	all []*Fault
}

// Throttle refuses the next n calls as too frequent.
func (fs *faults) Throttle(c Calls, channel string, n int) *Fault {
	fs.t.Helper()
	refusal := &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}
	return fs.fault(fmt.Sprintf("throttle the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{Err: refusal})
}

// Fail answers the next n calls with an internal error of the service; they take no effect.
func (fs *faults) Fail(c Calls, channel string, n int) *Fault {
	fs.t.Helper()
	failure := &wire.Error{
		Code: "InternalError", Message: "We encountered an internal error. Please try again.",
		Status: 500, Fault: true,
	}
	return fs.fault(fmt.Sprintf("fail the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{Err: failure})
}

// LoseAnswers closes the connection of the next n calls after they took effect. A message that was sent is in the
// channel, and its sender does not know; a message that was received is in flight until its lease ends.
func (fs *faults) LoseAnswers(c Calls, channel string, n int) *Fault {
	fs.t.Helper()
	return fs.fault(fmt.Sprintf("lose the answers of the next %d %s of %s", n, c, channel), c, channel, n,
		localaws.Outcome{DropAfter: true})
}

// Deny refuses calls for lack of a permission, until it is lifted.
func (fs *faults) Deny(c Calls, channel string) *Fault {
	fs.t.Helper()
	refusal := &wire.Error{
		Code: "AccessDeniedException", Query: "AccessDenied",
		Message: "Access to the resource is denied.", Status: 403,
	}
	return fs.fault(fmt.Sprintf("deny %s of %s", c, channel), c, channel, always, localaws.Outcome{Err: refusal})
}

// Outage closes the connection of every call without effect, for a duration of the server's time. Polls that already
// wait continue.
func (fs *faults) Outage(d time.Duration) *Fault {
	f := &Fault{text: fmt.Sprintf("an outage of %v", d)}
	over := fs.Now().Add(d)
	f.remove = append(f.remove,
		fs.aws("an outage").server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
			if !fs.Now().Before(over) {
				return localaws.Outcome{}
			}
			f.hits.Add(1)
			return localaws.Outcome{Drop: true}
		}))
	return fs.inject(f)
}

// Duplicates delivers a share of a channel's messages, from 0 to 1, again while they are handled, as unordered channels
// may. The server's seed determines which. The channel must exist, so create its consumer or a producer first.
func (fs *faults) Duplicates(channel string, share float64) *Fault {
	fs.t.Helper()
	q := fs.aws("duplicates").queue(channel)
	switch {
	case q == nil:
		fs.t.Fatalf("duplicates of %s: it has no queue yet: create its consumer first", channel)
	case q.FIFO():
		fs.t.Fatalf("duplicates of %s: an ordered channel never delivers a message twice while it is handled; lose the "+
			"answers of its verdicts instead", channel)
	case share < 0 || share > 1:
		fs.t.Fatalf("duplicates of %s: a share of %v: it must be between 0 and 1", channel, share)
	}
	q.Chaos(queue.Chaos{Duplicate: share})
	return fs.inject(&Fault{
		text: "duplicates of " + channel, unseen: true,
		remove: []func(){func() { q.Chaos(queue.Chaos{}) }},
	})
}

func (fs *faults) fault(text string, c Calls, channel string, n int, what localaws.Outcome) *Fault {
	fs.t.Helper()
	if n < 1 {
		fs.t.Fatalf("%s: the number of calls must be at least 1", text)
	}
	if c.actions() == nil {
		fs.t.Fatalf("%s: Calls must be Sends, Receives or Verdicts", text)
	}
	return fs.control(text, n, c.actions(), func(r *localaws.Request) bool { return fs.concerns(r, channel) }, what)
}

// control makes the next n calls of actions fail that a function selects.
func (fs *faults) control(text string, n int, actions []string, selects func(*localaws.Request) bool,
	what localaws.Outcome,
) *Fault {
	fs.t.Helper()
	server := fs.aws(text).server
	f := &Fault{text: text}
	f.left.Store(int64(n))
	for _, action := range actions {
		f.remove = append(f.remove,
			server.Control(action, func(_ context.Context, r *localaws.Request) localaws.Outcome {
				if !selects(r) || !f.take() {
					return localaws.Outcome{}
				}
				return what
			}))
	}
	return fs.inject(f)
}

func (fs *faults) inject(f *Fault) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.all = append(fs.all, f)
	return f
}

// concerns reports whether a call is about a channel: its queue or, for wishlist_events.*, its exchange.
func (fs *faults) concerns(r *localaws.Request, channel string) bool {
	target := target(r.Input)
	name := fs.aws("a fault").channelOf(target[strings.LastIndexAny(target, "/:")+1:])
	if r.Service == "sns" {
		name += ".*"
	}
	return name == channel
}

// target returns the URL or the ARN in a call's input. The inputs have no common interface.
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
