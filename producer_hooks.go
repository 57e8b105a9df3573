package godwit

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/circuit"
)

// ProducerHooks are functions that a producer calls when something happens. A nil function is ignored. Hooks are called
// from the goroutine in which it happens, several at the same time, and should return soon. A panic of a hook changes
// nothing for the messages; [Producer.Health] reports it for a minute. Use [SendMiddleware] for changes.
type ProducerHooks struct {
	// Created is called once, when the producer is being made.
	Created func(p *Producer)
	// Sent is called when the service has answered a request with messages, or when the request has failed.
	Sent func(s Sending)
	// Retried is called when a message will be sent again, with the wait and the error.
	Retried func(after time.Duration, err error)
	// Circuit is called when sending stops because requests fail one after another (err is the last error), and when it
	// continues.
	Circuit func(open bool, err error)
	// Provisioned is called after an attempt to create the channel again that a send has found missing.
	Provisioned func(err error)
	// Untraced is called when a message is sent without its Trace, because it has no room for it; err says why.
	Untraced func(err error)
	// Closed is called once, when the producer is closed.
	Closed func()
}

// Join returns hooks that call those of h and then those of others, in order.
func (h ProducerHooks) Join(others ...ProducerHooks) ProducerHooks {
	for _, o := range others {
		h = ProducerHooks{
			Created:     both1(h.Created, o.Created),
			Sent:        both1(h.Sent, o.Sent),
			Retried:     both2(h.Retried, o.Retried),
			Circuit:     both2(h.Circuit, o.Circuit),
			Provisioned: both1(h.Provisioned, o.Provisioned),
			Untraced:    both1(h.Untraced, o.Untraced),
			Closed:      both0(h.Closed, o.Closed),
		}
	}
	return h
}

// hook calls a function of the user. A panic of it is a fault, which Health reports.
func (p *Producer) hook(f func()) {
	defer func() {
		if v := recover(); v != nil {
			p.faults.fault(newPanicError(v))
		}
	}()
	f()
}

// guarded is a function of the user that does not end the process when it panics.
func (p *Producer) guarded(f func(Receipt, error)) func(Receipt, error) {
	return func(r Receipt, err error) { p.hook(func() { f(r, err) }) }
}

// sent calls the hook for a request that began at a time.
func (p *Producer) sent(wire []driver.Prepared, traces []Headers, began time.Time, err error) {
	s := Sending{Messages: len(wire), Began: began, Took: time.Since(began), Err: err, Traces: traces}
	var entries *driver.BatchError
	switch {
	case errors.As(err, &entries):
		s.Failed = len(entries.Errs)
	case err != nil:
		s.Failed = len(wire)
	}
	for i := range wire {
		s.Bytes += int64(wire[i].Size)
	}
	p.hook(func() { p.o.Hooks.Sent(s) })
}

// tracesOf are the traces of messages; nil: none has one.
func tracesOf(ms []*outgoing) (traces []Headers) {
	for i, m := range ms {
		if len(m.trace) > 0 && traces == nil {
			traces = make([]Headers, len(ms))
		}
		if traces != nil {
			traces[i] = m.trace
		}
	}
	return traces
}

// answered tells the circuit breaker the outcome of a request, and calls the hook if the breaker changes.
func (p *Producer) answered(err error, ok bool) {
	change := p.circuit.Result(ok, time.Now())
	if f := p.o.Hooks.Circuit; f != nil && change != circuit.Same {
		p.hook(func() {
			if change == circuit.Closed {
				f(false, nil)
			} else {
				f(true, err)
			}
		})
	}
}
