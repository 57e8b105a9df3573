package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Context is the context of a handler. It can be canceled with a cause, and has the processing deadline as a field. The
// keeper checks the deadlines of all handlers with one timer. The expensive parts are made when they are first needed:
// a handler that does not use its context causes none of the allocations of a context that can be canceled.
type Context struct {
	all      *commonContext // nil: no handler has used it
	deadline moment         // noMoment: none

	inner atomic.Pointer[innerContext]
	ended atomic.Pointer[error] // why it has ended; nil: it has not
}

// handlerReturned is the reason for a context whose handler has returned without a cancellation.
var handlerReturned error

// commonContext is the parent of the contexts of all handlers of a session. It has values, and no cancellation.
type commonContext struct {
	context.Context
	clock clock
}

// innerContext is the context of the standard library that can be canceled.
type innerContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// renew prepares a context for a handler. It must not be in use.
func (c *Context) renew(all *commonContext, deadline moment) {
	c.all, c.deadline = all, deadline
}

// used reports whether a handler has had it. A goroutine that the handler has left running may still use it.
func (c *Context) used() bool { return c.all != nil }

// Deadline is the end of the processing timeout.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline == noMoment {
		return time.Time{}, false
	}
	return c.all.clock.time(c.deadline), true
}

// Done is closed when the context is canceled.
func (c *Context) Done() <-chan struct{} { return c.whole().Done() }

// Err is context.Canceled once the context is canceled, with any cause.
func (c *Context) Err() error { return c.whole().Err() }

// Value looks in the parent first, and then in the inner context, in which the standard library finds the cause.
func (c *Context) Value(key any) any {
	if v := c.all.Value(key); v != nil {
		return v
	}
	return c.whole().Value(key)
}

// whole makes the inner context when it is first needed.
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
	// over stores the reason before it looks for the inner context, so either over or whole cancels it.
	if why := c.ended.Load(); why != nil {
		in.cancel(*why)
	}
	return in
}

// interrupt cancels the context. The first cause counts.
func (c *Context) interrupt(cause error) { c.over(&cause) }

// end cancels the context after the handler has returned, for goroutines that it has left running. It returns the cause
// of an earlier cancellation, or nil.
func (c *Context) end() (cause error) {
	c.over(&handlerReturned)
	return *c.ended.Load()
}

// over ends the context, unless it has already ended.
func (c *Context) over(why *error) {
	if !c.ended.CompareAndSwap(nil, why) {
		return
	}
	if in := c.inner.Load(); in != nil {
		in.cancel(*why)
	}
}
