package godwit

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Message is a message to send. The zero value is an empty message. A Message is a value and may be used several times.
type Message struct {
	Body []byte
	// Reader has the body instead of Body, and Size is the number of its bytes. On a channel with a store, a body that
	// is too large for the service is written to the store piece by piece, so that it is never in memory as a whole;
	// otherwise it is read into memory, up to 16 MiB. The Reader is read once, before the message is sent: a Message
	// with a Reader can be used once.
	Reader io.Reader
	Size   int64

	// OrderKey: messages of an ordered channel with the same key are handled one after another; those without a key are
	// in one order, too. On channels without order it is the tenant of the message.
	OrderKey string
	// RoutingKey is what the filters of an exchange's consumers select by.
	RoutingKey string
	// DedupID is for ordered channels; on others it is an error. A second message with the same id within 5 minutes is
	// accepted and not delivered. "": derived from order key, routing key, type, version and body, without the headers.
	DedupID string

	ContentType string
	// Type and Version describe the body, for a [Router]. Version 0: no version.
	Type    string
	Version int

	Headers Headers
	// Trace is the trace context of the message: the headers traceparent, tracestate or others of a tracing system.
	// They travel as headers do, and replace those of the same names, but a message without room for them is sent
	// without them. Package telemetry sets it.
	Trace Headers
	// Delay is how long the message waits before it can be received, for as long as ten years (docs/later.md). With SNS
	// and SQS, existing resources delay a message for 15 minutes at most, and not on all channels.
	Delay time.Duration
	// At is when the message can be received, instead of Delay and within the same bounds; zero: at once. It is
	// compared with this machine's clock when the message is sent, also if it has waited in a batch or is repeated; a
	// message whose time is over is sent without a delay.
	At time.Time
	// Cancellable: [Producer.Cancel] can cancel the message until its Delay or At is over. Set it together with
	// Receipt, whose ID Cancel needs. It is an error where nothing can cancel: with SNS and SQS without
	// snssqs.Options.Decisions. With these, such a message costs a request of S3 more, and waits beside its channel
	// also for the shortest delay (docs/later.md).
	Cancellable bool
	// Expires is how long the message is worth handling, at least a second and longer than the delay; 0: for good. It
	// counts from the time at which the service accepts the message, also if it is retried or sent again later. No
	// handler starts after that: the consumer discards the message, or rejects it (ConsumerOptions.DeadLetterExpired).
	Expires time.Duration

	// Receipt, if set, is filled in when the service has accepted the message: by Send, by SendBatch, or by Wait of
	// SendAsync's Result. In middleware it is filled in after the next SendFunc of a Send; with SendBatch and SendAsync
	// the next SendFunc returns before the message is sent. Each message needs its own Receipt.
	Receipt *Receipt
	// Answered, if set, is called with the outcome, from any goroutine and before the sender gets it; it must return
	// soon. It is for middleware that must know the outcome also of SendBatch and SendAsync. It may not be called if
	// the next SendFunc returns an error, and it is not called for a message of [Transform]. The Receipt is that of an
	// accepted message.
	Answered func(r Receipt, err error)

	forwarded string    // the DedupID of Delivery.Forward, for ordered channels
	first     time.Time // of Delivery.Forward: when the original was accepted for the first time
	tick      bool      // of Every
	by        time.Time // of Every: it is not sent after this; zero: RetryFor counts alone
}

// Receipt is the service's answer for an accepted message. The Receipt of a message that was not accepted is not
// changed.
type Receipt struct {
	// MessageID is the service's id, which the Delivery has, too. On an SNS exchange it is the id of the publication,
	// and the deliveries of each queue have other ids.
	MessageID string
	// Duplicate means that this producer had sent an equal message (see Message.DedupID) within 5 minutes, so that this
	// one is not delivered. It is known only on ordered channels of SQS and SNS, for the last 65,536 messages.
	// Duplicates of messages of other producers are not detected.
	Duplicate bool
	// ID is for [Producer.Cancel], also of another process. "": the message is not Cancellable.
	ID string
}

// Headers are names and values that are sent with a message.
type Headers []driver.Header

// Value returns the value of a header; "" if there is none. If there are several of the name, which only records of
// Kafka can have, it returns the last one.
func (h Headers) Value(name string) string {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Name == name {
			return h[i].Value
		}
	}
	return ""
}

// Values returns all values of the headers of a name, in order.
func (h Headers) Values(name string) (all []string) {
	for i := range h {
		if h[i].Name == name {
			all = append(all, h[i].Value)
		}
	}
	return all
}

// With returns the headers with one more, which replaces one of the same name. The receiver is not changed.
func (h Headers) With(name, value string) Headers {
	out := make(Headers, 0, len(h)+1)
	for _, x := range h {
		if x.Name != name {
			out = append(out, x)
		}
	}
	return append(out, driver.Header{Name: name, Value: value})
}

// traced returns the headers with the trace, which replaces headers of the same names.
func (m *Message) traced() []driver.Header {
	hs := make([]driver.Header, 0, len(m.Headers)+len(m.Trace))
	for _, h := range m.Headers {
		if !m.Trace.has(h.Name) {
			hs = append(hs, h)
		}
	}
	return append(hs, m.Trace...)
}

func (m *Message) driver(ordered bool) driver.Message {
	dedup := m.DedupID
	if dedup == "" && ordered {
		dedup = m.forwarded
	}
	return driver.Message{
		OrderKey: m.OrderKey, RoutingKey: m.RoutingKey, DedupID: dedup,
		ContentType: m.ContentType, Type: m.Type, Version: m.Version,
		Header: m.Headers, Body: m.Body, Reader: m.Reader, Size: m.Size, Delay: m.Delay, At: m.At,
		Cancellable: m.Cancellable, Expires: m.Expires, First: m.first, Tick: m.tick,
	}
}

// maxRead is the largest body of a Reader that is read into memory, on a channel without a store.
const maxRead = 16 << 20

// read reads the body of a Reader into memory, unless it is larger than apart and goes to the store.
func (m *Message) read(wire *driver.Message, apart int64) error {
	switch {
	case m.Reader == nil && m.Size == 0:
		return nil
	case m.Reader == nil:
		return invalid("Message.Size", m.Size, "it is for a Reader: set that, too, or remove it")
	case m.Body != nil:
		return invalid("Message.Reader", "set", "the message has a Body, too: remove one of both")
	case m.Size < 0:
		return invalid("Message.Size", m.Size, "it is the number of the Reader's bytes")
	case apart > 0 && m.Size > apart:
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
