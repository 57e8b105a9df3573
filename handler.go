package godwit

import "context"

// Handler handles one delivery. nil means done; an error goes through the consumer's [Policy]. Its context is
// cancelled, with a cause, when the processing timeout passes, the lease is lost or shutdown runs out of time: a
// handler should then return soon. Handlers run concurrently, except for deliveries of one lane.
type Handler func(ctx context.Context, d *Delivery) error

// Middleware wraps a handler. Of several, the first is outermost.
type Middleware func(Handler) Handler

func wrap(h Handler, ms []Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}
