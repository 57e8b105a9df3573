package ops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/shape"
)

const (
	// endsKept is how many ends of handlers are remembered for each consumer.
	endsKept = 1000
	// runningMost bounds the running handlers in a report, the oldest first.
	runningMost = 500
)

// WorkersOptions are the options of NewWorkers. The zero value answers this machine alone.
type WorkersOptions struct {
	// From are the addresses that may ask. Set them to those of the console. Empty: loopback.
	From []netip.Prefix
}

// Workers shows what the consumers of a process hold: it is an http.Handler that answers with a [WorkersReport] in
// JSON, and with the stacks of handlers that have used more than half of their time if the query has stacks. It reports
// no bodies. Make it before the consumers, add its [Workers.Hooks] to their hooks, and mount it where only operators
// reach it. It is safe for concurrent use.
type Workers struct {
	o    WorkersOptions
	host string

	mu        sync.Mutex
	consumers []*working
}

// WorkersReport is what the consumers of a process hold.
type WorkersReport struct {
	At        time.Time      `json:"at"`
	Host      string         `json:"host"`
	PID       int            `json:"pid"`
	Consumers []ConsumerWork `json:"consumers"`
}

// ConsumerWork is what one consumer holds and has done.
type ConsumerWork struct {
	Channel  string           `json:"channel"`
	State    string           `json:"state"`
	Since    time.Time        `json:"since"`
	Workers  int              `json:"workers"`  // handlers that may run at once
	Held     int              `json:"held"`     // deliveries
	Waiting  int              `json:"waiting"`  // deliveries that wait for a worker, a key or a tenant's share
	Retrying int              `json:"retrying"` // retries that the consumer holds
	Lanes    int              `json:"lanes"`    // order keys with a delivery
	Blocked  time.Duration    `json:"blocked"`  // for how long the lane that has waited longest waits; 0: none waits
	Timeout  time.Duration    `json:"timeout"`  // of a handler
	Handled  int64            `json:"handled"`
	Retried  int64            `json:"retried"`
	Rejected int64            `json:"rejected"`
	Running  []RunningHandler `json:"running"` // the oldest first
	Ends     []HandlerEnd     `json:"ends"`    // the last thousand, the oldest first
	Problems []string         `json:"problems,omitempty"`
}

// RunningHandler is a handler that runs.
type RunningHandler struct {
	ID       string    `json:"id"`
	OrderKey string    `json:"order_key,omitempty"`
	Tenant   string    `json:"tenant,omitempty"`
	Attempt  int       `json:"attempt"`
	Since    time.Time `json:"since"`
	Stack    string    `json:"stack,omitempty"` // if it was asked for
}

// HandlerEnd is the end of a handler.
type HandlerEnd struct {
	At       time.Time     `json:"at"`
	ID       string        `json:"id"`
	OrderKey string        `json:"order_key,omitempty"`
	Tenant   string        `json:"tenant,omitempty"`
	Took     time.Duration `json:"took"`
	Verdict  string        `json:"verdict"`
	Error    string        `json:"error,omitempty"` // its shape, without values
}

// working is one consumer.
type working struct {
	channel                    string
	consumer                   *godwit.Consumer // nil: it is not made yet
	running                    map[*godwit.Delivery]RunningHandler
	ends                       []HandlerEnd
	next                       int // where the next end goes, when there are endsKept
	handled, retried, rejected int64
}

// NewWorkers returns a Workers without consumers.
func NewWorkers(o *WorkersOptions) (*Workers, error) {
	w := &Workers{}
	w.o = *cmp.Or(o, &WorkersOptions{})
	for i, from := range w.o.From {
		if !from.IsValid() {
			return nil, fmt.Errorf("ops: WorkersOptions.From[%d] is no range of addresses", i)
		}
	}
	var err error
	if w.host, err = os.Hostname(); err != nil {
		w.host = "unknown"
	}
	return w, nil
}

// Hooks returns hooks for one consumer, which is reported from now on. Add them with [godwit.Hooks.Join] to others.
func (w *Workers) Hooks(channel string) godwit.Hooks {
	one := &working{channel: channel, running: map[*godwit.Delivery]RunningHandler{}}
	w.mu.Lock()
	w.consumers = append(w.consumers, one)
	w.mu.Unlock()
	locked := func(f func()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
	}
	return godwit.Hooks{
		Created: func(c *godwit.Consumer) { locked(func() { one.consumer = c }) },
		Started: func(d *godwit.Delivery) {
			locked(func() {
				one.running[d] = RunningHandler{
					ID: d.ID, OrderKey: d.OrderKey, Tenant: d.Tenant, Attempt: d.Attempt, Since: time.Now(),
				}
			})
		},
		Ended: func(d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) {
			end := HandlerEnd{
				At: time.Now(), ID: d.ID, OrderKey: d.OrderKey, Tenant: d.Tenant, Took: took,
				Verdict: v.Action.String(),
			}
			if err != nil {
				end.Error = shape.Of(err.Error())
			}
			locked(func() { one.end(d, v, end) })
		},
	}
}

// end notes the end of a handler. The caller holds the lock.
func (one *working) end(d *godwit.Delivery, v godwit.Verdict, end HandlerEnd) {
	delete(one.running, d)
	switch v.Action {
	case godwit.ActionRetry:
		one.retried++
	case godwit.ActionReject:
		one.rejected++
	default:
		one.handled++
	}
	if len(one.ends) < endsKept {
		one.ends = append(one.ends, end)
		return
	}
	one.ends[one.next] = end
	one.next = (one.next + 1) % endsKept
}

// Report returns what the consumers hold. Stacks of slow handlers stop all goroutines for a moment.
func (w *Workers) Report(stacks bool) WorkersReport {
	r := WorkersReport{At: time.Now(), Host: w.host, PID: os.Getpid(), Consumers: []ConsumerWork{}}
	w.mu.Lock()
	made := make([]*godwit.Consumer, len(w.consumers))
	for i, one := range w.consumers {
		c := ConsumerWork{
			Channel: one.channel, State: "not made yet", Handled: one.handled, Retried: one.retried,
			Rejected: one.rejected,
			Running:  []RunningHandler{}, Ends: slices.Concat(one.ends[one.next:], one.ends[:one.next]),
		}
		for _, h := range one.running {
			c.Running = append(c.Running, h)
		}
		made[i] = one.consumer
		r.Consumers = append(r.Consumers, c)
	}
	w.mu.Unlock()
	for i := range r.Consumers {
		c := &r.Consumers[i]
		slices.SortFunc(c.Running, func(a, b RunningHandler) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
		})
		c.Running = c.Running[:min(len(c.Running), runningMost)]
		if made[i] != nil {
			c.ask(made[i], stacks)
		}
	}
	return r
}

// ask fills in what the consumer itself knows.
func (c *ConsumerWork) ask(consumer *godwit.Consumer, stacks bool) {
	health, live := consumer.Health(), consumer.Live()
	c.State, c.Since, c.Timeout = health.State.String(), health.Since, health.ProcessingTimeout
	c.Problems = health.Unhealthy
	c.Workers, c.Held, c.Waiting, c.Retrying = live.Workers, live.Held, live.Waiting, live.Retrying
	c.Lanes, c.Blocked = live.Lanes, live.Blocked
	if !stacks {
		return
	}
	for _, slow := range consumer.Slow(c.Timeout / 2) {
		for i := range c.Running {
			if c.Running[i].ID == slow.MessageID {
				c.Running[i].Stack = slow.Stack
			}
		}
	}
}

// ServeHTTP answers with the report.
func (w *Workers) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	switch {
	case !w.answers(r.RemoteAddr):
		http.Error(to, "this address may not ask: see ops.WorkersOptions.From", http.StatusForbidden)
	case r.Method != http.MethodGet:
		to.Header().Set("Allow", http.MethodGet)
		http.Error(to, "use GET", http.StatusMethodNotAllowed)
	default:
		to.Header().Set("Content-Type", "application/json")
		to.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(to).Encode(w.Report(r.URL.Query().Has("stacks"))) // the client has gone
	}
}

// answers reports whether a client may ask.
func (w *Workers) answers(remote string) bool {
	p, err := netip.ParseAddrPort(remote)
	from := p.Addr().Unmap()
	if err != nil || len(w.o.From) == 0 {
		return err == nil && from.IsLoopback()
	}
	return slices.ContainsFunc(w.o.From, func(n netip.Prefix) bool { return n.Contains(from) })
}
