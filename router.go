package godwit

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

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
	known := make([]string, 0, len(r.by))
	for kind := range r.by {
		known = append(known, kind)
	}
	slices.Sort(known)
	return Permanent(fmt.Errorf("the router has no handler for type %q, only for %s: add it, or set Otherwise", d.Type,
		strings.Join(known, ", ")))
}
