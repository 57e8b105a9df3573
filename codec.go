package godwit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Codec encodes values as bodies and decodes them. It must be safe for concurrent use.
type Codec interface {
	ContentType() string
	Encode(v any) ([]byte, error)
	Decode(body []byte, v any) error // v is a pointer
}

// ContextCodec is a [Codec] that makes requests, for example to a registry of schemas. [Handle], [HandleBatch] and
// Sender.Send call its methods with their contexts; [Decode] and Sender.Message, which have none, call those of Codec.
//
// An error of decoding rejects the message, with a ContextCodec as with any other Codec, unless it is marked: with
// [HoldFor], because the service does not answer, with [RetryAfter] or with [Fatal]. The consumer then treats it as an
// error of the handler.
type ContextCodec interface {
	Codec
	EncodeContext(ctx context.Context, v any) ([]byte, error)
	DecodeContext(ctx context.Context, body []byte, v any) error
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
// bytes, unless the codec marks its error (see [ContextCodec]).
func Handle[T any](c Codec, f func(ctx context.Context, d Typed[T]) error) Handler {
	if c == nil || f == nil {
		return nil // Run returns an error
	}
	return func(ctx context.Context, d *Delivery) error {
		t, err := decode[T](ctx, c, d)
		if err != nil {
			return err
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
				if t, err = decode[T](context.Background(), c, d); err != nil && d.skip(err) {
					continue
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// decode decodes the body of a delivery. Its error is one that a handler can return.
func decode[T any](ctx context.Context, c Codec, d *Delivery) (Typed[T], error) {
	t := Typed[T]{Delivery: d}
	if d.Undecodable != nil {
		return t, Permanent(&undecodable{d.Undecodable})
	}
	if d.unread() {
		return t, Permanent(&oversized{d.apart.Size, d.h.o.MaxBody})
	}
	var err error
	if cc, ok := c.(ContextCodec); ok {
		err = cc.DecodeContext(ctx, d.Body, &t.Value)
	} else {
		err = c.Decode(d.Body, &t.Value)
	}
	if err == nil {
		return t, nil
	}
	err = &undecodable{fmt.Errorf("decode %T: %w", t.Value, err)}
	if markOf(err).kind == markNone {
		err = Permanent(err)
	}
	return t, err
}

// skip settles a delivery that could not be decoded for the caller of an iterator, and reports whether it did.
func (d *Delivery) skip(err error) bool {
	if d.h == nil || markOf(err).kind == markPermanent {
		return d.Reject(err) == nil
	}
	if d.choice.CompareAndSwap(nil, &d.h.sealed) {
		d.h.settleUnread(d, err)
	}
	return true
}

// undecodable is the error of a body that cannot be decoded.
type undecodable struct{ error }

func (e *undecodable) Unwrap() error { return e.error }

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
	m, err := s.message(ctx, v, m)
	if err != nil {
		return err
	}
	return s.p.Send(ctx, m)
}

// Message returns m with the encoded value as its body, for SendBatch and SendAsync.
func (s *Sender[T]) Message(v T, m Message) (Message, error) {
	return s.message(context.Background(), v, m)
}

func (s *Sender[T]) message(ctx context.Context, v T, m Message) (Message, error) {
	var body []byte
	var err error
	if cc, ok := s.c.(ContextCodec); ok {
		body, err = cc.EncodeContext(ctx, v)
	} else {
		body, err = s.c.Encode(v)
	}
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

// Router calls handlers by the type of deliveries. Set it up before use; it is then safe for concurrent use. Its Serve
// is a [Handler].
type Router struct {
	by    map[string]Handler
	other Handler
}

// NewRouter makes a router with a handler for each type.
func NewRouter(by map[string]Handler) (*Router, error) {
	if len(by) == 0 {
		return nil, invalid("NewRouter's handlers", "empty", "a router needs the handler of at least one type")
	}
	r := &Router{by: map[string]Handler{}}
	for kind, h := range by {
		if h == nil {
			return nil, invalid("NewRouter's handler of type "+kind, "nil",
				"every type needs a handler: set it, or remove the type")
		}
		r.by[kind] = h
	}
	return r, nil
}

// Otherwise sets the handler of all other types, and returns the router. Without one, their deliveries are rejected.
func (r *Router) Otherwise(h Handler) *Router {
	r.other = h
	return r
}

// Serve calls the handler of the delivery's type.
func (r *Router) Serve(ctx context.Context, d *Delivery) error {
	if h := r.by[d.Type]; h != nil {
		return h(ctx, d)
	}
	if r.other != nil {
		return r.other(ctx, d)
	}
	known := slices.Sorted(maps.Keys(r.by))
	return Permanent(fmt.Errorf("the router has no handler for type %q, only for %s: add it, or set Otherwise", d.Type,
		strings.Join(known, ", ")))
}
