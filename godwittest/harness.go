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
	// virtualPatience is longer than any service keeps a message: what has not come by then never will.
	virtualPatience = 15 * 24 * time.Hour
	realPatience    = 10 * time.Second
	// defaultSeed makes a test see the same ids and chaos in every run.
	defaultSeed = 1
)

// Options of a harness. The zero value is good.
type Options struct {
	// Local is of the backend and its server. nil: their defaults, but for the server's seed: that is the same in every
	// run, unless Local.Server gives one. A test that fails prints it.
	Local *local.Options
	// Patience is how long to wait for what should come. 0: 15 days in a bubble, 10 s outside.
	Patience time.Duration
}

// Harness is a backend with a server of its own, for one test. Its methods are for the test's goroutine; handlers may
// call those that only look.
type Harness struct {
	t        testing.TB
	watched  driver.Backend // whose receivers and senders write the journal
	service  service
	journal  *journal
	bubble   bool // time is virtual
	patience time.Duration
	begun    time.Time // on the server's clock

	mu        sync.Mutex
	producers []*godwit.Producer
	consumers []*godwit.Consumer
	running   []*Running
	faults    []*Fault
}

// New opens a harness that ends with the test: consumers are stopped, producers closed, and what went wrong with one of
// them fails the test. Inside of a bubble, t is the bubble's.
func New(t testing.TB, o *Options) *Harness {
	t.Helper()
	var opts Options
	if o != nil {
		opts = *o
	}
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
	h := &Harness{t: t, bubble: inBubble(), patience: patience}
	switch {
	case h.patience < 0:
		t.Fatalf("godwittest: Options.Patience is %v: it must not be negative", h.patience)
	case h.patience == 0 && h.bubble:
		h.patience = virtualPatience
	case h.patience == 0:
		h.patience = realPatience
	}
	return h
}

// begin begins to write the journal, until the test ends.
func (h *Harness) begin(s service) {
	h.service, h.begun, h.journal = s, s.now(), newJournal(s.now)
	h.t.Cleanup(h.end)
}

// seeded are the options of the backend, with a seed for its server.
func seeded(o *local.Options) (of local.Options) {
	if o != nil {
		of = *o
	}
	var server localaws.Options
	if of.Server != nil {
		server = *of.Server
	}
	server.Seed = cmp.Or(server.Seed, defaultSeed)
	of.Server = &server
	return of
}

// inBubble asks synctest where we are: Wait panics outside of a bubble.
func inBubble() (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			yes = p == "wait already in progress" // of another goroutine of the bubble
		}
	}()
	synctest.Wait()
	return true
}

// Backend is what producers and consumers of the application are made with. What they do is seen by the harness.
func (h *Harness) Backend() driver.Backend { return h.watched }

// Server is the embedded AWS: for looking into, and for faults that the harness has no word for. A harness of
// [NewKafka] has a [Harness.Broker] instead.
func (h *Harness) Server() *localaws.Server { return h.aws("to look into its Server").server }

// aws is the service of what only the embedded AWS can do.
func (h *Harness) aws(what string) *aws {
	h.t.Helper()
	s, ok := h.service.(*aws)
	if !ok {
		h.t.Fatalf("%s: this harness is on Kafka, which has no such thing: use Harness.Broker", what)
	}
	return s
}

// Now is the time by the server's clock. In a bubble that is time.Now.
func (h *Harness) Now() time.Time { return h.service.now() }

// Producer makes a producer that is closed at the end of the test.
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

// Send sends messages, in order. One that is not accepted ends the test.
func (h *Harness) Send(p *godwit.Producer, ms ...godwit.Message) {
	h.t.Helper()
	if err := p.SendBatch(h.t.Context(), ms); err != nil {
		h.t.Fatalf("send to %s: %v", p.Channel(), err)
	}
}

// Bodies are messages with these texts as bodies.
func Bodies(texts ...string) []godwit.Message { return Keyed("", texts...) }

// Keyed are messages of one order key with these texts as bodies.
func Keyed(orderKey string, texts ...string) []godwit.Message {
	ms := make([]godwit.Message, len(texts))
	for i, text := range texts {
		ms[i] = godwit.Message{Body: []byte(text), OrderKey: orderKey}
	}
	return ms
}

// Consumer makes a consumer whose every attempt is noted, with its error. It is closed at the end of the test, if it was
// not run: then it belongs to a loop over its deliveries.
func (h *Harness) Consumer(channel string, o *godwit.ConsumerOptions) *godwit.Consumer {
	h.t.Helper()
	var opts godwit.ConsumerOptions
	if o != nil {
		opts = *o
	}
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

// end is the test's end. Everything is stopped at once, as a process stops, and in any case.
func (h *Harness) end() {
	h.t.Helper()
	for _, f := range h.faults {
		f.Lift()
	}
	for _, r := range h.running {
		r.cancel()
	}
	for _, r := range h.running {
		r.finish()
	}
	// The test's own context has ended by now.
	ctx, cancel := context.WithTimeout(context.Background(), h.patience)
	defer cancel()
	h.closed("consumer", len(h.consumers), func(i int) (string, error) {
		_, err := h.consumers[i].Close(ctx)
		return h.consumers[i].Channel(), err
	})
	h.closed("producer", len(h.producers), func(i int) (string, error) {
		return h.producers[i].Channel(), h.producers[i].Close(ctx)
	})
	for _, left := range h.journal.open() {
		h.t.Errorf("%s was left open: close what the application makes (Producer.Close), or what it has queued "+
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
	for _, f := range h.faults {
		if !f.happened() {
			h.t.Errorf("%s: it never happened, so this test has not tried it", f)
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
