package localaws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Request is a call as a control sees it.
type Request struct {
	wire.Call
	Input any // a pointer to the action's input, such as *sqs.SendMessageInput
}

// Outcome is what a control decides about a call. The zero Outcome does not affect the call. Before the call takes
// effect, Delay applies, then Drop or Err. After it took effect, DelayAfter applies, then DropAfter or ErrAfter, which
// simulate a lost response.
type Outcome struct {
	Delay time.Duration // on the server's clock, before anything else
	Err   *wire.Error   // the answer; the call takes no effect
	Drop  bool          // the connection is closed; the call takes no effect

	DelayAfter time.Duration
	ErrAfter   *wire.Error // the answer, although the call took effect
	DropAfter  bool        // the connection is closed, although the call took effect

	// Strand hides from the call that its client has disconnected, as AWS sometimes does: the call takes effect, and
	// the answer is lost. A poll without a client still takes messages, which are invisible for their timeout. A client
	// that waits gets its answer.
	Strand bool

	// BreakRequest and BreakResponse, if positive, close the connection after this many bytes of the body. The client's
	// upload then takes no effect; its download is not complete. A body that is not longer is not affected.
	BreakRequest, BreakResponse int64

	// FailEntries decides about single entries of a batch call, by id, before they take effect; nil: the entry is not
	// affected.
	FailEntries func(id string) *wire.Error
}

func (o *Outcome) zero() bool {
	return o.Delay == 0 && o.Err == nil && !o.Drop && o.DelayAfter == 0 && o.ErrAfter == nil && !o.DropAfter &&
		!o.Strand && o.FailEntries == nil && o.BreakRequest == 0 && o.BreakResponse == 0
}

// control is one registered function.
type control struct {
	pattern string
	f       func(context.Context, *Request) Outcome
	once    bool
}

// controls are the registered functions, and what they decide. The first that decides a call decides it alone.
type controls struct {
	always func(context.Context, *Request) Outcome // decides what no other does; nil: such a call is not affected
	clock  *clock.Clock
	ended  chan struct{} // closed by close

	mu       sync.RWMutex
	all      []*control
	closed   bool
	stranded sync.WaitGroup // running calls that continue without their client
}

// Control calls f for every call of an action, "sqs.SendMessage", of a service, "sqs.*", or for every call, "*". The
// first control whose Outcome is not zero decides; later controls do not see the call. f is called concurrently, in the
// goroutines of the calls, and may block until its context ends.
func (s *Server) Control(action string, f func(context.Context, *Request) Outcome) (remove func()) {
	return s.controls.add(&control{pattern: action, f: f})
}

// ControlOnce is the same as Control, until f has decided one call.
func (s *Server) ControlOnce(action string, f func(context.Context, *Request) Outcome) (remove func()) {
	return s.controls.add(&control{pattern: action, f: f, once: true})
}

func (s *controls) add(one *control) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(slices.Clip(s.all), one)
	return func() { s.remove(one) }
}

// remove reports whether the control was registered: of two calls that a ControlOnce would decide, one succeeds.
func (s *controls) remove(one *control) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.all, one)
	if i < 0 {
		return false
	}
	s.all = slices.Delete(slices.Clone(s.all), i, i+1)
	return true
}

func (s *controls) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// close ends the waits that controls have decided. Calls are no longer stranded.
func (s *controls) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.ended)
	}
}

func (s *controls) decide(ctx context.Context, r *Request) Outcome {
	s.mu.RLock()
	all := s.all
	s.mu.RUnlock()
	for _, one := range all {
		if !one.matches(r) {
			continue
		}
		o := one.f(ctx, r)
		if o.zero() || one.once && !s.remove(one) {
			continue
		}
		return o
	}
	return Outcome{}
}

func (c *control) matches(r *Request) bool { return r.Is(c.pattern) }

// Is reports whether a pattern, as of [Server.Control], means the call.
func (r *Request) Is(pattern string) bool {
	if pattern == "*" {
		return true
	}
	service, action, _ := strings.Cut(pattern, ".")
	return service == r.Service && (action == "*" || action == r.Action)
}

// Calls returns how often each action, such as "sqs.SendMessage", was called, in all places, so that tests can count
// requests. Calls that a control failed or dropped count, too.
func (s *Server) Calls() map[string]int {
	return s.calls.list(func(wire.Place) bool { return true })
}

// around wraps every call: it counts the call, and applies what a control decides.
func (s *Server) around(ctx context.Context, c *wire.Call, in any, run wire.Run) (any, error) {
	s.calls.add(c)
	noteCall(ctx, c, in)
	return s.controls.apply(ctx, c, in, s.keeping.around(c, run))
}

// apply runs a call as a control decides.
func (s *controls) apply(ctx context.Context, c *wire.Call, in any, run wire.Run) (any, error) {
	s.mu.RLock()
	watched := len(s.all) > 0
	s.mu.RUnlock()
	if !watched && s.always == nil {
		return run(ctx)
	}
	call := &Request{Call: *c, Input: in}
	o := s.decide(ctx, call)
	if o.zero() && s.always != nil {
		o = s.always(ctx, call)
	}
	if err := s.pause(ctx, o.Delay); err != nil {
		return nil, err
	}
	switch {
	case o.Drop:
		return nil, wire.ErrDrop
	case o.Err != nil:
		return nil, o.Err
	}
	c.FailEntry, c.BreakRequest, c.BreakResponse = o.FailEntries, o.BreakRequest, o.BreakResponse
	if o.Strand {
		run = s.stranding(run)
	}
	out, err := run(ctx)
	if late := s.pause(ctx, o.DelayAfter); late != nil {
		return nil, late
	}
	switch {
	case o.DropAfter:
		return nil, wire.ErrDrop
	case o.ErrAfter != nil:
		return nil, o.ErrAfter
	}
	return out, err
}

// stranding returns a Run that continues without its client. Close waits for it.
func (s *controls) stranding(run wire.Run) wire.Run {
	type answer struct {
		out any
		err error
	}
	return func(ctx context.Context) (any, error) {
		done := make(chan answer, 1)
		if !s.strand(func() {
			out, err := run(context.WithoutCancel(ctx))
			done <- answer{out, err}
		}) {
			return nil, wire.ErrDrop
		}
		select {
		case a := <-done:
			if ctx.Err() == nil {
				return a.out, a.err
			}
		case <-ctx.Done():
		}
		return nil, errors.Join(wire.ErrDrop, ctx.Err())
	}
}

// strand runs f in a goroutine that Close waits for. After Close it does not run f.
func (s *controls) strand(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.stranded.Go(f)
	}
	return !s.closed
}

// pause waits on the server's clock.
func (s *controls) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	over := make(chan struct{})
	stop := s.clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-s.clock.Closed():
		return wire.ErrDrop
	case <-ctx.Done():
		return errors.Join(wire.ErrDrop, ctx.Err())
	case <-s.ended:
		return wire.ErrDrop
	}
}
