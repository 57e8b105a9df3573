package sns

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/wire"
)

// CarrierOptions are what a Carrier needs. Clock is required.
type CarrierOptions struct {
	Clock  *clock.Clock
	Logger *slog.Logger // nil: nothing is logged
	// HTTP carries deliveries to http and https endpoints; nil: a transport of the carrier's own, which connects only
	// to Endpoints.
	HTTP      http.RoundTripper
	Endpoints *Endpoints // nil: this machine
}

// Carrier is what the services of all places share, so that its bounds are those of the server: the deliveries over
// HTTP, the key that signs envelopes, the failures, and what is delivered nowhere. It is safe for concurrent use.
type Carrier struct {
	clock  *clock.Clock
	log    *slog.Logger
	client *http.Client
	signer signer
	outbox outbox
	unsent unsent        // has its own lock
	number atomic.Uint64 // of the topic or subscription that was created last

	mu       sync.Mutex
	waits    map[uint64]wait // for the next attempts
	waited   uint64          // number of the last of them
	failures []Failure

	life    context.Context // ends with Close
	end     context.CancelFunc
	working sync.WaitGroup // goroutines that deliver over HTTP
}

// atLeast makes the numbers of later topics and subscriptions larger than n.
func (c *Carrier) atLeast(n uint64) {
	for old := c.number.Load(); old < n && !c.number.CompareAndSwap(old, n); old = c.number.Load() {
	}
}

// wait is a delivery's wait for its next attempt.
type wait struct {
	post *post
	stop func()
}

// NewCarrier returns a carrier without deliveries.
func NewCarrier(o CarrierOptions) *Carrier {
	c := &Carrier{clock: o.Clock, log: o.Logger, waits: map[uint64]wait{}}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	transport := o.HTTP
	if transport == nil {
		transport = cmp.Or(o.Endpoints, &Endpoints{}).transport()
	}
	c.client = &http.Client{
		Transport: transport,
		// SNS does not follow redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Close cancels deliveries over HTTP, and waits for the attempts that are running.
func (c *Carrier) Close() {
	c.mu.Lock()
	c.end() // from here on no delivery starts
	c.mu.Unlock()
	c.drop(func(wire.Place) bool { return true })
	c.working.Wait()
	c.client.CloseIdleConnections()
}

// forget cancels the deliveries of a place that wait for another attempt, and forgets its failures and what it
// delivers nowhere.
func (c *Carrier) forget(p wire.Place) {
	c.drop(func(owner wire.Place) bool { return owner == p })
	c.unsent.forget(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.failures[:0:0]
	for _, f := range c.failures {
		if f.place() != p {
			kept = append(kept, f)
		}
	}
	c.failures = kept
}

// drop cancels the deliveries that wait for another attempt, of the places that of selects.
func (c *Carrier) drop(of func(wire.Place) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, w := range c.waits {
		if of(w.post.owner) {
			w.stop()
			c.outbox.leave(w.post)
			delete(c.waits, id)
		}
	}
	c.outbox.drop(of)
}

// start begins a new delivery, with its first attempt when the clock has advanced by d.
func (c *Carrier) start(d time.Duration, p *post) {
	if err := c.outbox.admit(p); err != nil {
		p.failed(err.Error())
		return
	}
	c.after(d, p)
}

// after makes the next attempt in a goroutine of its own when the clock has advanced by d, and there is room for it.
func (c *Carrier) after(d time.Duration, p *post) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return
	}
	if d <= 0 {
		c.run(c.outbox.add(p))
		return
	}
	c.waited++
	id := c.waited
	stop := c.clock.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		// If it is missing, the service was reset or closed meanwhile.
		if _, waiting := c.waits[id]; waiting {
			delete(c.waits, id)
			c.run(c.outbox.add(p))
		}
	})
	c.waits[id] = wait{p, func() { stop() }}
}

// run starts attempts; the caller holds the lock.
func (c *Carrier) run(due []*post) {
	if c.life.Err() != nil {
		return
	}
	for _, p := range due {
		c.working.Go(func() {
			c.attempt(p)
			next := c.outbox.ended(p)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.run(next)
		})
	}
}

func (c *Carrier) attempt(p *post) {
	reason, again := c.try(p)
	if reason != "" && again && len(p.delays) > 0 && c.life.Err() == nil {
		pause := p.delays[0]
		p.delays = p.delays[1:]
		c.after(pause, p)
		return
	}
	c.outbox.leave(p)
	switch {
	case reason == "" && p.accepted != nil:
		p.accepted()
	case reason == "" || c.life.Err() != nil:
	default:
		p.failed(reason)
	}
}

// record keeps failures and logs them. The caller holds no lock.
func (c *Carrier) record(failures []Failure) {
	if len(failures) == 0 {
		return
	}
	c.mu.Lock()
	c.failures = append(c.failures, failures...)
	c.failures = c.failures[max(0, len(c.failures)-maxFailures):]
	c.mu.Unlock()
	for _, f := range failures {
		c.log.Warn("sns: a delivery failed",
			slog.String("subscription", f.SubscriptionARN), slog.String("endpoint", loggable(f.Endpoint)),
			slog.String("message", f.MessageID), slog.String("reason", f.Reason),
			slog.String("dead letter queue", f.DeadLetterQueue), slog.Bool("lost", f.DeadLetterQueue == ""))
	}
}

// Failures returns the last thousand deliveries that finally failed, of all places, the oldest first.
func (c *Carrier) Failures() []Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Failure(nil), c.failures...)
}

// Unsent returns the latest messages for protocols that this server does not deliver to, of all places, the oldest
// first: at most a thousand, and 16 MiB.
func (c *Carrier) Unsent() []Unsent { return c.unsent.list() }
