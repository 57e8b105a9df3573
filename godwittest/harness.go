package godwittest

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

const (
	// virtualPatience is longer than any service keeps a message: a message that has not come by then never will.
	virtualPatience = 15 * 24 * time.Hour
	realPatience    = 10 * time.Second
	// defaultSeed gives a test the same ids and chaos in every run.
	defaultSeed = 1
)

// Options of a harness. The zero value is usable.
type Options struct {
	// Local are the options of the backend and its server. nil: their defaults, except that the server's seed is the
	// same in every run. Set Local.Server to try another seed; a test that fails prints the seed.
	Local *local.Options
	// Patience is how long to wait for an expected event. 0: 15 days in a bubble, 10 s outside. Raise it when handlers
	// really take longer than that.
	Patience time.Duration
}

// Harness is a backend with its own server, for one test. Its methods are for the test's goroutine; handlers may call
// those that only inspect.
type Harness struct {
	*view
	*waiter
	*clock
	*faults
	watched driver.Backend // its receivers and senders write the journal

	mu        sync.Mutex
	producers []*godwit.Producer
	consumers []*godwit.Consumer
	running   []*Running
}

// New returns a harness that ends with the test: then consumers are stopped and producers closed, and their errors fail
// the test. In a bubble, t must be the bubble's.
func New(t testing.TB, o *Options) *Harness {
	t.Helper()
	opts := *cmp.Or(o, &Options{})
	h := newHarness(t, opts.Patience)
	of := seeded(opts.Local)
	b, err := local.Open(t.Context(), &of)
	if err != nil {
		t.Fatalf("godwittest: open the backend: %v", err)
	}
	s := &aws{server: b.Server()}
	if of.Namespace != "" {
		s.space = of.Namespace + "---"
	}
	h.begin(s)
	h.watched = &backend{b, h.journal}
	return h
}

func newHarness(t testing.TB, patience time.Duration) *Harness {
	t.Helper()
	v := &view{t: t}
	w := &waiter{view: v, bubble: inBubble(), patience: patience}
	switch {
	case patience < 0:
		t.Fatalf("godwittest: Options.Patience is %v: it must not be negative", patience)
	case patience == 0 && w.bubble:
		w.patience = virtualPatience
	case patience == 0:
		w.patience = realPatience
	}
	return &Harness{view: v, waiter: w, clock: &clock{w}, faults: &faults{view: v}}
}

// begin starts the journal, until the test ends.
func (h *Harness) begin(s service) {
	h.service, h.begun, h.journal = s, s.now(), newJournal(s.now)
	h.t.Cleanup(h.end)
}

// seeded returns the options of the backend, with a seed for its server.
func seeded(o *local.Options) (of local.Options) {
	of = *cmp.Or(o, &local.Options{})
	var server localaws.Options
	if of.Server != nil {
		server = *of.Server
	}
	server.Seed = cmp.Or(server.Seed, defaultSeed)
	of.Server = &server
	return of
}

// inBubble asks synctest: Wait panics outside a bubble.
func inBubble() (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			yes = p == "wait already in progress" // another goroutine of the bubble calls it
		}
	}()
	synctest.Wait()
	return true
}

// Backend is for producers and consumers that the application creates. The harness sees what they do.
func (h *Harness) Backend() driver.Backend { return h.watched }

// Producer creates a producer that is closed when the test ends.
func (h *Harness) Producer(channel string, o *godwit.ProducerOptions) *godwit.Producer {
	h.t.Helper()
	p, err := godwit.NewProducer(h.t.Context(), h.Backend(), channel, o)
	if err != nil {
		h.t.Fatalf("make a producer of %s: %v", channel, err)
	}
	h.mu.Lock()
	h.producers = append(h.producers, p)
	h.mu.Unlock()
	return p
}

// Send sends messages in order. A message that is not accepted ends the test.
func (h *Harness) Send(p *godwit.Producer, ms ...godwit.Message) {
	h.t.Helper()
	if err := p.SendBatch(h.t.Context(), ms); err != nil {
		h.t.Fatalf("send to %s: %v", p.Channel(), err)
	}
}

// Bodies returns messages with these texts as bodies.
func Bodies(texts ...string) []godwit.Message { return Keyed("", texts...) }

// Keyed returns messages with one order key and these texts as bodies.
func Keyed(orderKey string, texts ...string) []godwit.Message {
	ms := make([]godwit.Message, len(texts))
	for i, text := range texts {
		ms[i] = godwit.Message{Body: []byte(text), OrderKey: orderKey}
	}
	return ms
}

// Consumer creates a consumer whose attempts are recorded with their errors. If it is not run, but used in a loop over
// its deliveries, it is closed when the test ends.
func (h *Harness) Consumer(channel string, o *godwit.ConsumerOptions) *godwit.Consumer {
	h.t.Helper()
	opts := *cmp.Or(o, &godwit.ConsumerOptions{})
	opts.Hooks = h.journal.hook(opts.Hooks)
	c, err := godwit.NewConsumer(h.t.Context(), h.Backend(), channel, &opts)
	if err != nil {
		h.t.Fatalf("make a consumer of %s: %v", channel, err)
	}
	h.mu.Lock()
	h.consumers = append(h.consumers, c)
	h.mu.Unlock()
	return c
}

// end ends the test. Everything is stopped at the same time, as when a process stops, whether or not the test failed.
func (h *Harness) end() {
	h.t.Helper()
	for _, f := range h.all {
		f.Lift()
	}
	for _, r := range h.running {
		r.cancel()
	}
	for _, r := range h.running {
		r.finish()
	}
	// The test's own context has already ended.
	ctx, cancel := context.WithTimeout(context.Background(), h.patience)
	defer cancel()
	h.closed("consumer", len(h.consumers), func(i int) (string, error) {
		_, err := h.consumers[i].Close(ctx)
		return h.consumers[i].Channel(), err
	})
	h.closed("producer", len(h.producers), func(i int) (string, error) {
		return h.producers[i].Channel(), h.producers[i].Close(ctx)
	})
	for _, left := range h.journal.gate.open() {
		h.t.Errorf("%s was left open: close what the application creates (Producer.Close), or messages that are queued "+
			"is lost when its process ends", left)
	}
	if err := h.watched.Close(ctx); err != nil {
		h.t.Errorf("close the backend: %v", err)
	}
	if h.t.Failed() {
		if s, ok := h.service.(*aws); ok {
			h.t.Logf("the server's seed was %d; Options.Local.Server.Seed repeats it", s.server.Seed())
		}
		return
	}
	for _, f := range h.all {
		if !f.happened() {
			h.t.Errorf("%s: the fault never happened, so this test has not tested it", f)
		}
	}
}

func (h *Harness) closed(what string, n int, closeOne func(i int) (string, error)) {
	h.t.Helper()
	for i := range n {
		if channel, err := closeOne(i); err != nil {
			h.t.Errorf("close a %s of %s: %v", what, channel, err)
		}
	}
}
