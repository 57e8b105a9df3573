package godwit

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
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

// sendHooks calls the hooks of a producer. Their panics are faults, which Health reports.
type sendHooks struct {
	*ProducerHooks
	faults healthLog
	fault  faults
}

func (h *sendHooks) init(hooks *ProducerHooks) {
	h.ProducerHooks = hooks
	h.fault = h.faults.fault
}

// sent calls the hook for a request that began at a time.
func (h *sendHooks) sent(ms []*outgoing, began time.Time, err error) {
	if h.Sent == nil {
		return
	}
	s := Sending{Messages: len(ms), Began: began, Took: time.Since(began), Err: err}
	var entries *driver.BatchError
	switch {
	case errors.As(err, &entries):
		s.Failed = len(entries.Errs)
	case err != nil:
		s.Failed = len(ms)
	}
	for i, m := range ms {
		s.Bytes += int64(m.Size)
		if len(m.trace) > 0 && s.Traces == nil {
			s.Traces = make([]Headers, len(ms))
		}
		if s.Traces != nil {
			s.Traces[i] = m.trace
		}
	}
	call1(h.fault, h.Sent, s)
}
