package godwit

import "context"

// Handler handles one delivery. If it returns nil, the delivery is done; for an error, the consumer's [Policy] decides.
// Its context is canceled, with a cause, when the processing timeout passes, when the lease is lost, or when a shutdown
// runs out of time. The handler should then return soon. Handlers run concurrently, except for deliveries of one lane.
type Handler func(ctx context.Context, d *Delivery) error

// Middleware wraps a handler. The first of several is the outermost.
type Middleware func(Handler) Handler

func wrap(h Handler, ms []Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}
