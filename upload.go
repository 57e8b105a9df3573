package godwit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/bodies"
	"github.com/godwitmq/godwit/internal/calls"
)

const (
	// maxRead is the largest body of a Reader that is read into memory, on a channel without a store.
	maxRead = 16 << 20
)

// uploads are the large bodies of one SendBatch that are being written to the store.
type uploads struct {
	group bodies.Group

	mu   sync.Mutex
	errs map[*outgoing]error
}

// uploaded reports whether the body of a message goes to a store, so that its preparation takes long.
func (p *Producer) uploaded(m *Message) bool {
	size := int64(len(m.Body))
	if m.Reader != nil {
		size = m.Size
	}
	return p.apart > 0 && size > p.apart
}

// begin prepares a message in a goroutine, when one of the earlier ones is ready.
func (u *uploads) begin(ctx context.Context, p *Producer, m *Message, out *outgoing, c *caller) {
	own := *m // middleware may change the message when the SendFunc has returned
	u.group.Go(func() {
		if err := p.encode(ctx, &own, out, c); err != nil {
			u.mu.Lock()
			u.errs[out] = err
			u.mu.Unlock()
		}
	})
}

// wait waits for all messages, and returns the errors of those that could not be prepared.
func (u *uploads) wait() map[*outgoing]error {
	if u == nil {
		return nil
	}
	u.group.Wait()
	return u.errs
}

// callPrepare prepares a message. A call of the store counts for Health.
func (p *Producer) callPrepare(ctx context.Context, m *Message, wire *driver.Message) (driver.Prepared, error) {
	if m.Reader != nil || m.Size != 0 {
		if err := p.read(m, wire); err != nil {
			return driver.Prepared{}, err
		}
	}
	if !p.uploaded(m) {
		return p.prepareTraced(ctx, m, wire)
	}
	p.calls.Begin(calls.Store, 1)
	prepared, err := p.prepareTraced(ctx, m, wire)
	stalled := calls.Stall(err)
	if ctx.Err() != nil {
		stalled = nil
	}
	p.calls.End(calls.Store, stalled)
	return prepared, err
}

// prepareTraced prepares a message with its trace or, if that does not fit, without it.
func (p *Producer) prepareTraced(ctx context.Context, m *Message, wire *driver.Message) (driver.Prepared, error) {
	if len(m.Trace) == 0 {
		return p.sender.Prepare(ctx, wire)
	}
	body := onceRead{Reader: wire.Reader}
	if wire.Reader != nil {
		wire.Reader = &body
	}
	wire.Header = m.traced()
	prepared, err := p.sender.Prepare(ctx, wire)
	class := driver.ClassOf(err)
	if err == nil || body.read || class != driver.TooLarge && class != driver.Permanent {
		return prepared, err
	}
	wire.Header = m.Headers
	prepared, plain := p.sender.Prepare(ctx, wire)
	if plain == nil && p.o.Hooks.Untraced != nil {
		p.hook(func() { p.o.Hooks.Untraced(err) })
	}
	return prepared, plain
}

// onceRead is a reader that knows whether it was read.
type onceRead struct {
	io.Reader
	read bool
}

// Read implements io.Reader.
func (r *onceRead) Read(to []byte) (int, error) {
	r.read = true
	return r.Reader.Read(to)
}

// read reads the body of a Reader into memory, if it is small enough for its message.
func (p *Producer) read(m *Message, wire *driver.Message) error {
	switch {
	case m.Reader == nil:
		return invalid("Message.Size", m.Size, "it is for a Reader: set that, too, or remove it")
	case m.Body != nil:
		return invalid("Message.Reader", "set", "the message has a Body, too: remove one of both")
	case m.Size < 0:
		return invalid("Message.Size", m.Size, "it is the number of the Reader's bytes")
	case p.apart > 0 && m.Size > p.apart:
		return nil
	case m.Size > maxRead:
		return &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf("the Reader has %d bytes, and without a store at "+
			"most %d are sent: give the backend a store (snssqs.Options.Store, kafka.Options.Store)", m.Size, maxRead)}
	}
	body := make([]byte, m.Size)
	n, err := io.ReadFull(m.Reader, body)
	switch {
	case errors.Is(err, io.EOF) && m.Size == 0:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("Message.Size", m.Size, fmt.Sprintf("the Reader has %d bytes", n))
	case err != nil:
		return fmt.Errorf("read Message.Reader: %w", err)
	default:
		if more, _ := io.ReadFull(m.Reader, make([]byte, 1)); more > 0 {
			return invalid("Message.Size", m.Size, "the Reader has more bytes")
		}
	}
	wire.Body, wire.Reader, wire.Size = body, nil, 0
	return nil
}
