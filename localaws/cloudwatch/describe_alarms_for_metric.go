package cloudwatch

import (
	"context"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// DescribeAlarmsForMetricInput is the input of DescribeAlarmsForMetric.
type DescribeAlarmsForMetricInput struct {
	MetricName        string      `json:"MetricName"`
	Namespace         string      `json:"Namespace"`
	Statistic         string      `json:"Statistic"`
	ExtendedStatistic string      `json:"ExtendedStatistic"`
	Dimensions        []Dimension `json:"Dimensions"`
	Period            *int32      `json:"Period"`
	Unit              string      `json:"Unit"`
}

// DescribeAlarmsForMetricOutput is the output of DescribeAlarmsForMetric.
type DescribeAlarmsForMetricOutput struct {
	MetricAlarms []MetricAlarm `json:"MetricAlarms"`
}

// describeAlarmsForMetric finds alarms with exactly these dimensions, and none that has the metric in an expression
// (AWS's API reference, DescribeAlarmsForMetric).
func (s *Service) describeAlarmsForMetric(_ context.Context, _ *wire.Call, in *DescribeAlarmsForMetricInput,
) (*DescribeAlarmsForMetricOutput, error) {
	for name, value := range map[string]string{"MetricName": in.MetricName, "Namespace": in.Namespace} {
		if fault := checkName(value, name); fault != nil {
			return nil, asValidation(fault)
		}
	}
	out := &DescribeAlarmsForMetricOutput{MetricAlarms: []MetricAlarm{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.sortedAlarms() {
		if in.wants(a.input) {
			out.MetricAlarms = append(out.MetricAlarms, a.shown())
		}
	}
	return out, nil
}

func (in *DescribeAlarmsForMetricInput) wants(a *PutMetricAlarmInput) bool {
	return a.MetricName == in.MetricName && a.Namespace == in.Namespace &&
		(in.Statistic == "" || in.Statistic == a.Statistic) &&
		(in.ExtendedStatistic == "" || in.ExtendedStatistic == a.ExtendedStatistic) &&
		(in.Period == nil || a.Period != nil && *in.Period == *a.Period) &&
		(in.Unit == "" || in.Unit == a.Unit) && sameDimensions(in.Dimensions, a.Dimensions)
}

func sameDimensions(a, b []Dimension) bool {
	byName := func(x, y Dimension) int { return strings.Compare(x.Name, y.Name) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}
