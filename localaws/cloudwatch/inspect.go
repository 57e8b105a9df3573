package cloudwatch

import (
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
)

// MetricState is a metric as inspection shows it.
type MetricState struct {
	ID    metric.ID
	Units []string
	Seen  time.Time // when a sample arrived last
	// Key is the metric's position in the list, for the next page.
	Key string
}

// Metrics returns up to limit metrics of a namespace, in order, behind the key of the last one of the previous page;
// "": of every namespace, and from the first on. A limit of 0 means all.
func (s *Service) Metrics(namespace, after string, limit int) []MetricState {
	var states []MetricState
	for _, l := range s.metrics.List(after, limit, func(l metric.Listed) bool {
		return namespace == "" || l.ID.Namespace == namespace
	}) {
		states = append(states, MetricState{ID: l.ID, Units: l.Units, Seen: l.Seen, Key: l.Key})
	}
	return states
}

// Points returns what is stored of a metric in [from, to) by periods, for each unit.
func (s *Service) Points(id metric.ID, from, to time.Time, period time.Duration) [][]metric.Point {
	return s.metrics.Read(s.opts.Clock.Now(), metric.Reading{ID: id, From: from, To: to, Period: period})
}
