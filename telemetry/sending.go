package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
)

// sending observes one producer.
type sending struct {
	t       *Telemetry
	message *spanKind // of one message
	request *spanKind // of several
	metrics *producerMeter
}

func (s *sending) hooks() godwit.ProducerHooks {
	count := func(in metric.Int64Counter) { s.metrics.plain.count(in, 1) }
	return godwit.ProducerHooks{
		Created:     s.created,
		Sent:        s.sent,
		Retried:     func(time.Duration, error) { count(s.t.meters.sentAgain) },
		Circuit:     func(open bool, _ error) { s.metrics.circuit(open) },
		Provisioned: func(error) { count(s.t.meters.provisioned) },
		Untraced:    func(error) { count(s.t.meters.untraced) },
		Closed:      func() { s.t.gauges.remove(s.metrics) },
	}
}

// created is called before anything is sent.
func (s *sending) created(p *godwit.Producer) {
	where := p.Address()
	where.Group = "" // only consumers have a group
	at := address(p.Channel(), where)
	s.message = kindOf(s.t.tracer, "send", p.Channel(), trace.SpanKindProducer, at)
	s.request = kindOf(s.t.tracer, "send", p.Channel(), trace.SpanKindClient, at)
	s.metrics = s.t.meters.producer(p.Channel(), at)
	s.t.gauges.add(s.metrics)
}

// middleware makes the span of a message, and adds its context to the message. The span ends with the outcome, which
// for a message of SendBatch or SendAsync comes after the next SendFunc has returned.
func (s *sending) middleware(next godwit.SendFunc) godwit.SendFunc {
	return func(ctx context.Context, m *godwit.Message) error {
		d := s.message.draft()
		d.attrs.add(semconv.MessagingMessageBodySize(size(m)))
		ctx, span := s.message.start(ctx, d)
		m.Trace = append(m.Trace, s.t.carrier.inject(ctx)...)
		if !span.IsRecording() {
			return next(ctx, m)
		}
		o := &outcome{span: span}
		answered := m.Answered
		m.Answered = func(r godwit.Receipt, err error) {
			o.end(r.MessageID, err)
			if answered != nil {
				answered(r, err)
			}
		}
		err := next(ctx, m)
		if err != nil {
			o.end("", err)
		}
		return err
	}
}

// sent makes the span of a request with several messages, which have spans of their own, and counts it.
func (s *sending) sent(r godwit.Sending) {
	s.metrics.sent(&r)
	if s.t.tracer == nil || r.Messages < 2 {
		return
	}
	d := s.request.draft()
	d.attrs.add(semconv.MessagingBatchMessageCount(r.Messages))
	for _, h := range r.Traces[:min(len(r.Traces), mostLinks)] {
		if of := s.t.carrier.trace(h); of.IsValid() {
			d.link(of)
		}
	}
	d.opts = append(d.opts, trace.WithTimestamp(r.Began))
	_, span := s.request.start(context.Background(), d)
	fail(context.Background(), span, r.Err)
	span.End(trace.WithTimestamp(r.Began.Add(r.Took)))
}

func size(m *godwit.Message) int {
	if m.Reader != nil {
		return int(m.Size)
	}
	return len(m.Body)
}

// outcome ends the span of a message, once.
type outcome struct {
	span  trace.Span
	ended atomic.Bool
}

func (o *outcome) end(id string, err error) {
	if o.ended.Swap(true) {
		return
	}
	if id != "" {
		o.span.SetAttributes(semconv.MessagingMessageID(id))
	}
	fail(context.Background(), o.span, err)
	o.span.End()
}

// longestStatus bounds the text of an error in a span.
const longestStatus = 256

// fail gives a span its error. nil: none.
func fail(ctx context.Context, span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType(ctx, err)))
	text := err.Error()
	span.SetStatus(codes.Error, text[:min(len(text), longestStatus)])
}
