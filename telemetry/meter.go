package telemetry

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/deathkind"
)

// Labels of single metrics. All of them have few values.
const (
	actionKey    = attribute.Key("godwit.action")
	kindKey      = attribute.Key("godwit.kind")
	reasonKey    = attribute.Key("godwit.reason")
	operationKey = attribute.Key("godwit.operation")
)

// billedChunk is what SQS and SNS bill as one request.
const billedChunk = 64 << 10

// labels are the attributes of a measurement, in both forms in which instruments take them. They are made once, because
// making them costs more than a measurement.
type labels struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe []metric.ObserveOption
}

func labelsOf(kvs ...attribute.KeyValue) labels {
	set := metric.WithAttributeSet(attribute.NewSet(kvs...))
	return labels{[]metric.AddOption{set}, []metric.RecordOption{set}, []metric.ObserveOption{set}}
}

func (l labels) count(in metric.Int64Counter, n int64) { in.Add(context.Background(), n, l.add...) }

// labelled makes and keeps the labels of metrics that have one more than base, by its value. The values are of a small
// set.
type labelled struct {
	base []attribute.KeyValue
	key  attribute.Key
	made sync.Map // labels by value
}

func (l *labelled) of(value string) labels {
	if known, ok := l.made.Load(value); ok {
		return known.(labels)
	}
	kvs := append(l.base[:len(l.base):len(l.base)], l.key.String(value))
	made, _ := l.made.LoadOrStore(value, labelsOf(kvs...))
	return made.(labels)
}

// operation is the labels of one kind of request.
type operation struct {
	ok     labels
	failed labelled // by error.type

	requests, billed *series
}

func (m *meters) operationOf(channel attribute.KeyValue, at []attribute.KeyValue, name string) *operation {
	kvs := append(at, semconv.MessagingOperationName(name))
	return &operation{
		ok: labelsOf(kvs...), failed: labelled{base: kvs, key: semconv.ErrorTypeKey},
		requests: m.requests.of(channel, operationKey.String(name)),
		billed:   m.billed.of(channel, operationKey.String(name)),
	}
}

// request counts one request with a payload.
func (o *operation) request(bills bool, bytes int64) {
	o.requests.add(1)
	if bills {
		o.billed.add(int(max(1, (bytes+billedChunk-1)/billedChunk)))
	}
}

func (o *operation) of(err error) labels {
	if err == nil {
		return o.ok
	}
	return o.failed.of(errorType(context.Background(), err))
}

// producerMeter measures one producer.
type producerMeter struct {
	*meters
	channel attribute.KeyValue
	plain   labels
	send    *operation
	sentOK  *series
	bills   bool
	opened  atomic.Bool
}

func (m *meters) producer(channel string, at []attribute.KeyValue) *producerMeter {
	of := channelKey.String(channel)
	at = slices.Clip(append(at, of))
	plain := labelsOf(of)
	plain.zero(m.circuit, m.sentAgain, m.provisioned, m.untraced)
	return &producerMeter{
		meters: m, channel: of, plain: plain, send: m.operationOf(of, at, "send"), bills: bills(at),
		sentOK: m.sentBy.of(append(at, semconv.MessagingOperationName("send"))...),
	}
}

// bills reports whether the service bills each request.
func bills(at []attribute.KeyValue) bool {
	switch system := at[0].Value.AsString(); system {
	case semconv.MessagingSystemAWSSQS.Value.AsString(), semconv.MessagingSystemAWSSNS.Value.AsString():
		return true
	}
	return false
}

func (p *producerMeter) sent(r *godwit.Sending) {
	ctx := context.Background()
	p.operation.Record(ctx, r.Took.Seconds(), p.send.of(r.Err).record...)
	p.sentOK.add(r.Messages - r.Failed)
	if r.Failed > 0 {
		failed := append(slices.Clip(p.send.failed.base), semconv.ErrorTypeKey.String(errorType(ctx, r.Err)))
		p.sentBy.of(failed...).add(r.Failed)
	}
	p.sendBatch.Record(ctx, int64(r.Messages), p.plain.record...)
	p.send.request(p.bills, r.Bytes)
}

func (p *producerMeter) circuit(open bool) {
	if p.opened.Store(open); open {
		p.plain.count(p.meters.circuit, 1)
	}
}

// zero begins the series of counters. A series that begins with its first event is one that Prometheus's increase and
// rate do not see: an alert would miss the first dead letter.
func (l labels) zero(counters ...metric.Int64Counter) {
	for _, c := range counters {
		c.Add(context.Background(), 0, l.add...)
	}
}

// consumerMeter measures one consumer.
type consumerMeter struct {
	*meters
	consumer *godwit.Consumer
	channel  attribute.KeyValue
	plain    labels
	receive  *operation
	settle   *operation
	process  *operation
	renew    *operation
	kinds    labelled
	reasons  labelled
	bills    bool
	backlog  backlog

	taken, started, late         *series
	done, retry, reject, release *series
	tolerance                    time.Duration
	aged                         atomic.Int64 // when an age was last measured, in milliseconds
}

func (m *meters) consumer(c *godwit.Consumer, at []attribute.KeyValue) *consumerMeter {
	of := channelKey.String(c.Channel())
	at = slices.Clip(append(at, of))
	base := []attribute.KeyValue{of}
	action := func(name string) *series { return m.settled.of(of, actionKey.String(name)) }
	made := &consumerMeter{
		meters: m, consumer: c, channel: of, plain: labelsOf(of), bills: bills(at),
		receive: m.operationOf(of, at, "receive"), settle: m.operationOf(of, at, "settle"),
		process: m.operationOf(of, at, "process"), renew: m.operationOf(of, at, "renew"),
		kinds:   labelled{base: base, key: kindKey},
		reasons: labelled{base: base, key: reasonKey},
		taken:   m.consumed.of(append(at, semconv.MessagingOperationName("receive"))...),
		started: m.started.of(of), late: m.late.of(of),
		done: action("done"), retry: action("retry"), reject: action("reject"), release: action("release"),
		tolerance: c.DelayTolerance(),
	}
	made.zero()
	return made
}

// zero begins the series of what is counted with the SDK.
func (c *consumerMeter) zero() {
	c.plain.zero(c.meters.unsettled, c.retries, c.meters.released, c.meters.timedOut, c.meters.abandoned,
		c.meters.renewed, c.lost, c.meters.unopened, c.meters.expired, c.meters.breaker, c.bodies,
		c.bodyBytes, c.meters.malformed)
	for _, kind := range deathkind.All() {
		c.kinds.of(kind).zero(c.dead)
	}
	for _, reason := range []godwit.DiscardReason{godwit.DiscardFiltered, godwit.DiscardFinished} {
		c.reasons.of(reason.String()).zero(c.meters.discarded)
	}
}

// began is called when a handler starts.
func (c *consumerMeter) began(ds ...*godwit.Delivery) time.Time {
	now := time.Now()
	c.started.add(len(ds))
	ms := now.UnixMilli()
	measure := c.aged.Load() != ms && c.aged.Swap(ms) != ms
	for _, d := range ds {
		if d.SentAt.IsZero() {
			continue
		}
		age := now.Sub(d.SentAt)
		if age > c.tolerance {
			c.late.add(1)
		}
		if measure {
			measure = false
			c.delay.Record(context.Background(), max(0, age).Seconds(), c.plain.record...)
		}
	}
	return now
}

// ended is called when a handler has ended.
func (c *consumerMeter) ended(ctx context.Context, begun time.Time, err error) {
	took := time.Since(begun)
	if err == nil {
		c.meters.process.Record(ctx, took.Seconds(), c.process.ok.record...)
		return
	}
	c.meters.process.Record(ctx, took.Seconds(), c.process.failed.of(errorType(ctx, err)).record...)
}

func (c *consumerMeter) polled(p *godwit.Poll) {
	ctx := context.Background()
	c.operation.Record(ctx, p.Took.Seconds(), c.receive.of(p.Err).record...)
	c.taken.add(len(p.Deliveries))
	c.receive.request(c.bills, p.Bytes)
}

func (c *consumerMeter) settled(s *godwit.Settling) {
	ctx := context.Background()
	c.operation.Record(ctx, s.Took.Seconds(), c.settle.of(s.Err).record...)
	c.settleBatch.Record(ctx, int64(s.Size()), c.plain.record...)
	c.done.add(s.Done)
	c.retry.add(s.Retried)
	c.reject.add(s.Rejected)
	c.release.add(s.Released)
	// On SQS, deletes, changes of visibility and copies for the dead letters are a request each.
	n := 0
	if c.bills {
		for _, yes := range []bool{s.Done+s.Rejected > 0, s.Retried+s.Released > 0, s.Rejected > 0} {
			if yes {
				n++
			}
		}
	}
	for range max(n, 1) {
		c.settle.request(c.bills, 0)
	}
}

func (c *consumerMeter) renewed(r *godwit.Renewal) {
	c.plain.count(c.meters.renewed, int64(r.Leases-r.Failed))
	c.renew.request(c.bills, 0)
}

func (c *consumerMeter) bodyRead(r *godwit.BodyRead) {
	if r.Err == nil {
		c.plain.count(c.bodies, 1)
		c.plain.count(c.bodyBytes, r.Bytes)
	}
}
