package godwit

import "context"

// Meta is a value that messages carry from the context of the sender to the context of the handler: a locale, a tenant,
// a trace.
type Meta struct {
	// Header is the name of the header that the value travels in.
	Header string
	// From returns the value of the sender's context; "": the message gets no header.
	From func(ctx context.Context) string
	// Into puts the value into the handler's context. It is not called for a message without the header.
	Into func(ctx context.Context, value string) context.Context
}

// Carry adds the metas of the sender's context to each message. It does not replace a header that the message has
// already.
func Carry(metas ...Meta) SendMiddleware {
	return func(next SendFunc) SendFunc {
		return func(ctx context.Context, m *Message) error {
			for _, meta := range metas {
				if value := meta.From(ctx); value != "" && !m.Headers.has(meta.Header) {
					m.Headers = m.Headers.With(meta.Header, value)
				}
			}
			return next(ctx, m)
		}
	}
}

// Restore reverses Carry: it adds the values of the headers to the handler's context.
func Restore(metas ...Meta) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error {
			for _, meta := range metas {
				if d.Headers.has(meta.Header) {
					//nolint:fatcontext // one step for each meta, and there are few
					ctx = meta.Into(ctx, d.Headers.Value(meta.Header))
				}
			}
			return next(ctx, d)
		}
	}
}

func (h Headers) has(name string) bool {
	for i := range h {
		if h[i].Name == name {
			return true
		}
	}
	return false
}
