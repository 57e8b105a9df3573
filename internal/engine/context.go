package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Context is what a handler gets: it is cancellable with a cause, with the processing deadline as a plain field. The
// keeper fires the deadline for all handlers with one timer. Most of it is made when it is first asked for: a handler
// that never looks at its context costs none of the allocations of a cancellable one.
type Context struct {
	all      *commonContext // nil: no handler has had it yet
	deadline moment         // noMoment: there is none

	inner atomic.Pointer[innerContext]
	ended atomic.Pointer[error] // why it is over; nil: it is not
}

// handlerReturned is why a context is over whose handler has returned: nothing cancelled it.
var handlerReturned error

// commonContext is what the contexts of all handlers of a session derive from: values, and no cancellation.
type commonContext struct {
	context.Context
	clock clock
}

// innerContext is the cancellable context of the standard library that is looked at.
type innerContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// renew prepares a context for a handler. It must not be in use.
func (c *Context) renew(all *commonContext, deadline moment) {
	c.all, c.deadline = all, deadline
}

// used says that a handler has had it: what that may have left running still looks at it.
func (c *Context) used() bool { return c.all != nil }

// Deadline is when the processing timeout fires.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline == noMoment {
		return time.Time{}, false
	}
	return c.all.clock.time(c.deadline), true
}

// Done is closed when it is cancelled.
func (c *Context) Done() <-chan struct{} { return c.whole().Done() }

// Err is context.Canceled once it is cancelled, whatever the cause.
func (c *Context) Err() error { return c.whole().Err() }

// Value looks in what the context derives from first, and then where the standard library looks for the cause.
func (c *Context) Value(key any) any {
	if v := c.all.Value(key); v != nil {
		return v
	}
	return c.whole().Value(key)
}

// whole makes what is looked at.
func (c *Context) whole() *innerContext {
	if in := c.inner.Load(); in != nil {
		return in
	}
	in := &innerContext{}
	in.Context, in.cancel = context.WithCancelCause(c.all)
	if !c.inner.CompareAndSwap(nil, in) {
		in.cancel(nil)
		return c.inner.Load()
	}
	// Who cancels looks for the inner context after it has said why, so that one of the two sees the other.
	if why := c.ended.Load(); why != nil {
		in.cancel(*why)
	}
	return in
}

// interrupt cancels it; the first cause counts.
func (c *Context) interrupt(cause error) { c.over(&cause) }

// end cancels what the handler may have left running, and returns why it was interrupted; nil: it was not.
func (c *Context) end() (cause error) {
	c.over(&handlerReturned)
	return *c.ended.Load()
}

// over ends it, unless that was done before.
func (c *Context) over(why *error) {
	if !c.ended.CompareAndSwap(nil, why) {
		return
	}
	if in := c.inner.Load(); in != nil {
		in.cancel(*why)
	}
}
