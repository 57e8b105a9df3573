package telemetry

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// tally is a counter that is counted by ourselves and read when metrics are collected. An addition costs a tenth of one
// of the SDK, so it is for what is counted for each message or request. A series lasts as long as its Telemetry, also
// when its consumer has ended.
type tally struct {
	metric.Int64ObservableCounter
	mu     sync.Mutex
	series map[attribute.Distinct]*series
}

// series is one series of a tally.
type series struct {
	n      atomic.Int64
	labels []metric.ObserveOption
}

func (s *series) add(n int) { s.n.Add(int64(n)) }

// of returns the series with these labels. It is called once for each consumer or producer.
func (t *tally) of(kvs ...attribute.KeyValue) *series {
	set := attribute.NewSet(kvs...)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.series[set.Equivalent()]
	if s == nil {
		if t.series == nil {
			t.series = map[attribute.Distinct]*series{}
		}
		s = &series{labels: []metric.ObserveOption{metric.WithAttributeSet(set)}}
		t.series[set.Equivalent()] = s
	}
	return s
}

// observe reports all series, also those that have counted nothing yet.
func (t *tally) observe(o metric.Observer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.series {
		o.ObserveInt64(t.Int64ObservableCounter, s.n.Load(), s.labels...)
	}
}
