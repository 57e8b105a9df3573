package godwit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/batch"
)

const (
	defaultRetryFor = 20 * time.Second

	// sendLinger is how long a batch waits for the callers that were just answered to come with their next message.
	sendLinger = time.Millisecond
	// sendLongest bounds that while another batch is under way: a slow call must not hold everyone up.
	sendLongest = 10 * time.Millisecond
	// sendsAtOnce bounds the batches under way.
	sendsAtOnce = 32
)

// sendAgain spaces the repetitions of what failed in passing.
var sendAgain = backoff.Curve{First: 50 * time.Millisecond, Max: 5 * time.Second}

// ProducerOptions say how a producer works. The zero value is good for most.
type ProducerOptions struct {
	Ordered   bool // must be what the channel is
	Provision ProvisionMode
	// RetryFor is how long a message is sent again after passing errors of the service, counted from Send. 0: 20 s.
	RetryFor time.Duration
	// HighThroughput, Encryption and Tags matter only where the producer is the first to make the channel.
	HighThroughput bool
	Encryption     string
	Tags           map[string]string
}

// Producer sends to one channel.
type Producer struct {
	name    string // the channel as users spell it
	channel driver.Channel
	o       ProducerOptions
	backend driver.Backend
	sender  driver.Sender
	batches *batch.Batcher[*outgoing] // nil: the backend batches by itself

	mu     sync.Mutex
	closed bool
	direct sync.WaitGroup // sends that go around the batches
}

// NewProducer checks the options, makes what is missing of what it sends to, and returns a producer that is ready.
func NewProducer(ctx context.Context, backend driver.Backend, channel string, o *ProducerOptions) (*Producer, error) {
	p := &Producer{name: channel, backend: backend}
	if o != nil {
		p.o = *o
	}
	if backend == nil {
		return nil, invalid("backend", backend, "open one first: local.Open, snssqs.Open")
	}
	var err error
	if p.channel, err = parseChannel(channel, p.o.Ordered); err != nil {
		return nil, err
	}
	if p.channel.Exchange != "" && p.channel.Queue != "" {
		return nil, invalid("channel", channel, "a producer sends to all queues of an exchange: "+p.channel.Exchange+".*")
	}
	setDefault(&p.o.RetryFor, defaultRetryFor)
	if err := errors.Join(
		within("ProducerOptions.RetryFor", p.o.RetryFor, time.Millisecond, time.Hour),
		within("ProducerOptions.Provision", p.o.Provision, ProvisionAuto, ProvisionNever),
	); err != nil {
		return nil, err
	}
	if err := provision(ctx, backend, channel, p.spec()); err != nil {
		return nil, err
	}
	if p.sender, err = backend.Sender(ctx, p.channel); err != nil {
		return nil, p.error("send", "", err)
	}
	p.start()
	return p, nil
}

func (p *Producer) spec() driver.ChannelSpec {
	return driver.ChannelSpec{Channel: p.channel, Mode: driver.Mode(p.o.Provision),
		HighThroughput: p.o.HighThroughput, Encryption: p.o.Encryption, Tags: p.o.Tags}
}

func (p *Producer) start() {
	lim := p.sender.Limits()
	if lim.Batch == 0 {
		return
	}
	o := batch.Options[*outgoing]{
		Limit: lim.Batch, Bytes: lim.Bytes,
		Size:   func(m **outgoing) int { return (*m).Size },
		AtOnce: sendsAtOnce, Linger: sendLinger, Longest: sendLongest,
		Take: func(m **outgoing) bool { return (*m).leave() },
		Send: p.send, Again: p.again,
		Done: func(m *outgoing, err error) { m.done(p.sent(m, err)) },
	}
	if p.channel.Ordered {
		o.Key = func(m **outgoing) string { return (*m).OrderKey }
	}
	p.batches = batch.New(o)
}

// Channel is the name the producer was made with.
func (p *Producer) Channel() string { return p.name }

// Send sends one message and returns when the service has accepted it. Concurrent senders share requests. When ctx ends
// first, the error says whether the message may have been accepted all the same.
func (p *Producer) Send(ctx context.Context, m Message) error {
	out, err := p.prepare(ctx, &m)
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	out.done = func(err error) { answer <- err }
	if err := p.submit(out); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	if out.withdraw() {
		return p.error("send", "", context.Cause(ctx))
	}
	select { // it left, so an answer that is there already says more than the context
	case err := <-answer:
		return err
	default:
		return p.error("send", "", errors.Join(ErrUnanswered, context.Cause(ctx)))
	}
}

// Close sends what is queued, waits for the answers until ctx ends, and closes the producer. Whoever still waits gets
// an error. A second Close does nothing.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if was {
		return nil
	}
	if p.batches != nil {
		p.batches.Close(ctx)
	}
	p.direct.Wait()
	if err := p.sender.Close(ctx); err != nil {
		return p.error("close", "", err)
	}
	return nil
}

// prepare brings a message into wire form, in its caller's goroutine.
func (p *Producer) prepare(ctx context.Context, m *Message) (*outgoing, error) {
	wire := m.driver()
	prepared, err := p.sender.Prepare(ctx, &wire)
	if err != nil {
		return nil, p.error("send", "", err)
	}
	return &outgoing{Prepared: prepared, until: time.Now().Add(p.o.RetryFor)}, nil
}

func (p *Producer) submit(out *outgoing) error {
	p.mu.Lock()
	closed := p.closed
	if !closed && p.batches == nil {
		p.direct.Add(1)
	}
	p.mu.Unlock()
	if closed || p.batches != nil && !p.batches.Add(out) {
		return p.error("send", "", ErrClosed)
	}
	if p.batches == nil {
		go func() {
			defer p.direct.Done()
			out.leave()
			out.done(p.sent(out, p.sender.Send(context.Background(), []driver.Prepared{out.Prepared})))
		}()
	}
	return nil
}

func (p *Producer) send(ctx context.Context, ms []*outgoing) error {
	wire := make([]driver.Prepared, len(ms))
	for i, m := range ms {
		wire[i] = m.Prepared
	}
	return p.sender.Send(ctx, wire)
}

// again says how long a message that was not accepted waits before it is sent again.
func (p *Producer) again(m **outgoing, err error, try int) time.Duration {
	(*m).tries, (*m).last = try, err
	if !driver.ClassOf(err).Passing() {
		return -1
	}
	wait := sendAgain.Jittered(try)
	var e *driver.Error
	if errors.As(err, &e) {
		wait = max(wait, e.After)
	}
	if time.Now().Add(wait).After((*m).until) {
		return -1
	}
	return wait
}

// sent turns the end of a message into its sender's error.
func (p *Producer) sent(m *outgoing, err error) error {
	if err == nil {
		return nil
	}
	var entries *driver.BatchError
	if errors.As(err, &entries) && len(entries.Errs) == 1 {
		err = entries.Errs[0]
	}
	if m.tries > 1 {
		err = &retriedError{tries: m.tries, took: p.o.RetryFor - time.Until(m.until), err: err}
	}
	return p.error("send", "", err)
}

func (p *Producer) error(op, id string, err error) error {
	return wrapError(op, p.name, id, err)
}

// outgoing is a message on its way.
type outgoing struct {
	driver.Prepared
	until time.Time // when it is no longer worth repeating
	tries int
	last  error
	done  func(error)
	phase atomic.Uint32
}

const (
	outQueued uint32 = iota
	outLeft
	outWithdrawn
)

// leave says that the message goes to the service; from then on it cannot be withdrawn.
func (m *outgoing) leave() bool {
	return m.phase.CompareAndSwap(outQueued, outLeft) || m.phase.Load() == outLeft
}

func (m *outgoing) withdraw() bool { return m.phase.CompareAndSwap(outQueued, outWithdrawn) }
