package godwittest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/cloudwatch"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Metrics are the metrics and alarms on the embedded AWS, for inspection and faults.
type Metrics struct{ h *Harness }

// Metrics returns the metrics: those that the service reports of channels, and those that the application reports.
func (h *Harness) Metrics() *Metrics {
	h.t.Helper()
	h.aws("metrics")
	return &Metrics{h}
}

// Point summarizes what was reported of a metric in one minute.
type Point struct {
	At      time.Time // the begin of the minute
	Samples float64
	Sum     float64
	Min     float64
	Max     float64
}

// kept is how long CloudWatch keeps minutes.
const kept = 15 * 24 * time.Hour

// Points returns the minutes of a metric that have points, in order, at most those of the last fifteen days. A minute
// in which nothing was reported has no point, which is not the same as a point of zero.
func (m *Metrics) Points(namespace, name string, dimensions map[string]string) []Point {
	id := metric.ID{Namespace: namespace, Name: name}
	for n, v := range dimensions {
		id.Dimensions = append(id.Dimensions, metric.Dimension{Name: n, Value: v})
	}
	now := m.h.Now()
	var points []Point
	from := now.Add(-kept).Truncate(time.Minute)
	for _, unit := range m.model().Points(id, from, now.Add(kept), time.Minute) {
		for _, p := range unit {
			points = append(points, Point{p.At, p.Stats.Count, p.Stats.Sum, p.Stats.Min, p.Stats.Max})
		}
	}
	slices.SortStableFunc(points, func(a, b Point) int { return a.At.Compare(b.At) })
	return points
}

// OfChannel returns the points of a metric that the service itself reports every minute: of a channel's queue, such as
// ApproximateNumberOfMessagesVisible, or, for wishlist_events.*, of its exchange's topic, such as
// NumberOfMessagesPublished. A channel that sleeps has no points.
func (m *Metrics) OfChannel(channel, name string) []Point {
	server := m.h.aws("metrics of " + channel)
	if !strings.HasSuffix(channel, ".*") {
		q := server.queue(channel)
		if q == nil {
			return nil
		}
		return m.Points("AWS/SQS", name, map[string]string{"QueueName": q.Name()})
	}
	for _, t := range server.server.SNS().Topics() {
		if server.channelOf(t.Name)+".*" == channel {
			return m.Points("AWS/SNS", name, map[string]string{"TopicName": t.Name})
		}
	}
	return nil
}

// Alarm returns the state of an alarm: OK, ALARM or INSUFFICIENT_DATA; "": there is no alarm of this name.
func (m *Metrics) Alarm(name string) string {
	for _, a := range m.model().Alarms() {
		if a.AlarmName == name {
			return a.StateValue
		}
	}
	return ""
}

// MetricCalls is a kind of call about metrics.
type MetricCalls string

const (
	Reports  MetricCalls = "reports"  // of metrics, by the application; the service's own reports are not affected
	Readings MetricCalls = "readings" // of metrics, by the application
)

func (c MetricCalls) actions() []string {
	switch c {
	case Reports:
		return []string{"cloudwatch.PutMetricData"}
	case Readings:
		return []string{"cloudwatch.GetMetricData", "cloudwatch.GetMetricStatistics"}
	}
	return nil
}

// Throttle refuses the next n calls of a namespace as too frequent.
func (m *Metrics) Throttle(c MetricCalls, namespace string, n int) *Fault {
	m.h.t.Helper()
	return m.fault(fmt.Sprintf("throttle the next %d", n), c, namespace, n,
		&wire.Error{Code: "ThrottlingException", Query: "Throttling", Message: "Rate exceeded"})
}

// Fail answers the next n calls of a namespace with an internal error of the service; they take no effect.
func (m *Metrics) Fail(c MetricCalls, namespace string, n int) *Fault {
	m.h.t.Helper()
	return m.fault(fmt.Sprintf("fail the next %d", n), c, namespace, n, &wire.Error{
		Code: "InternalServiceFault", Query: "InternalServiceError", Message: "The service has failed.", Status: 500,
		Fault: true,
	})
}

// Deny refuses calls of a namespace for lack of a permission, until the fault is lifted.
func (m *Metrics) Deny(c MetricCalls, namespace string) *Fault {
	m.h.t.Helper()
	return m.fault("deny", c, namespace, always, &wire.Error{
		Code: "AccessDeniedException", Query: "AccessDenied", Message: "Access to the resource is denied.", Status: 403,
	})
}

func (m *Metrics) fault(text string, c MetricCalls, namespace string, n int, refusal *wire.Error) *Fault {
	m.h.t.Helper()
	text = fmt.Sprintf("%s %s of the namespace %s", text, c, namespace)
	switch {
	case n < 1:
		m.h.t.Fatalf("%s: the number of calls must be at least 1", text)
	case c.actions() == nil:
		m.h.t.Fatalf("%s: MetricCalls must be Reports or Readings", text)
	}
	return m.h.control(text, n, c.actions(), func(r *localaws.Request) bool {
		return slices.Contains(namespaces(r.Input), namespace)
	}, localaws.Outcome{Err: refusal})
}

// namespaces returns the namespaces that a call is about.
func namespaces(input any) (names []string) {
	in, ok := input.(*cloudwatch.GetMetricDataInput)
	if !ok {
		return []string{reflect.Indirect(reflect.ValueOf(input)).FieldByName("Namespace").String()}
	}
	for _, q := range in.MetricDataQueries {
		if q.MetricStat != nil && q.MetricStat.Metric != nil {
			names = append(names, q.MetricStat.Metric.Namespace)
		}
	}
	return names
}

func (m *Metrics) model() *cloudwatch.Service { return m.h.aws("metrics").server.CloudWatch() }
