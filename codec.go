package godwit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
)

// Codec encodes values as bodies and decodes them. It must be safe for concurrent use.
type Codec interface {
	ContentType() string
	Encode(v any) ([]byte, error)
	Decode(body []byte, v any) error // v is a pointer
}

// JSON uses encoding/json. Raw passes []byte and string through unchanged.
var (
	JSON Codec = jsonCodec{}
	Raw  Codec = rawCodec{}
)

type jsonCodec struct{}

func (jsonCodec) ContentType() string             { return "application/json" }
func (jsonCodec) Encode(v any) ([]byte, error)    { return json.Marshal(v) }
func (jsonCodec) Decode(body []byte, v any) error { return json.Unmarshal(body, v) }

type rawCodec struct{}

func (rawCodec) ContentType() string { return "application/octet-stream" }

func (rawCodec) Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, fmt.Errorf("godwit.Raw encodes []byte and string, not %T", v)
}

func (rawCodec) Decode(body []byte, v any) error {
	switch v := v.(type) {
	case *[]byte:
		*v = body
		return nil
	case *string:
		*v = string(body)
		return nil
	}
	return fmt.Errorf("godwit.Raw decodes into *[]byte and *string, not %T", v)
}

// Typed is a delivery with its decoded body.
type Typed[T any] struct {
	*Delivery
	Value T
}

// Handle makes a Handler of a function of decoded bodies. A message that cannot be decoded is rejected, with its raw
// bytes.
func Handle[T any](c Codec, f func(ctx context.Context, d Typed[T]) error) Handler {
	if c == nil || f == nil {
		return nil // Run returns an error
	}
	return func(ctx context.Context, d *Delivery) error {
		t, err := decode[T](c, d)
		if err != nil {
			return Permanent(err)
		}
		return f(ctx, t)
	}
}

// Decode makes an iterator of decoded deliveries. A message that cannot be decoded is rejected, and the iteration
// continues. Without dead letters, it is an error of the iteration.
func Decode[T any](c Codec, ds iter.Seq2[*Delivery, error]) iter.Seq2[Typed[T], error] {
	return func(yield func(Typed[T], error) bool) {
		for d, err := range ds {
			var t Typed[T]
			if err == nil {
				if t, err = decode[T](c, d); err != nil && d.Reject(err) == nil {
					continue
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

func decode[T any](c Codec, d *Delivery) (Typed[T], error) {
	t := Typed[T]{Delivery: d}
	if d.Undecodable != nil {
		return t, &undecodable{d.Undecodable}
	}
	if d.unread() {
		return t, d.c.errUnread(d)
	}
	if err := c.Decode(d.Body, &t.Value); err != nil {
		return t, &undecodable{fmt.Errorf("decode %T: %w", t.Value, err)}
	}
	return t, nil
}

// undecodable is the error of a body that cannot be decoded.
type undecodable struct{ err error }

func (e *undecodable) Error() string { return e.err.Error() }
func (e *undecodable) Unwrap() error { return e.err }

// Sender sends values of one type through a producer.
type Sender[T any] struct {
	p       *Producer
	c       Codec
	kind    string
	version int
}

// NewSender makes a Sender. Several senders may share a producer. The producer's owner closes it.
func NewSender[T any](p *Producer, c Codec) *Sender[T] { return &Sender[T]{p: p, c: c} }

// WithType returns a Sender whose messages have this Type and Version, for the Router of their consumers. A Message
// with a Type keeps its own.
func (s *Sender[T]) WithType(kind string, version int) *Sender[T] {
	typed := *s
	typed.kind, typed.version = kind, version
	return &typed
}

// Send sends m with the encoded value as its body.
func (s *Sender[T]) Send(ctx context.Context, v T, m Message) error {
	m, err := s.Message(v, m)
	if err != nil {
		return err
	}
	return s.p.Send(ctx, m)
}

// Message returns m with the encoded value as its body, for SendBatch and SendAsync.
func (s *Sender[T]) Message(v T, m Message) (Message, error) {
	body, err := s.c.Encode(v)
	if err != nil {
		return m, s.p.error("send", fmt.Errorf("encode %T: %w", v, err))
	}
	m.Body = body
	setDefault(&m.ContentType, s.c.ContentType())
	if m.Type == "" && s.kind != "" {
		m.Type, m.Version = s.kind, s.version
	}
	return m, nil
}
