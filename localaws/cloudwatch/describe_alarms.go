package cloudwatch

import (
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// DescribeAlarmsInput is the input of DescribeAlarms.
type DescribeAlarmsInput struct {
	AlarmNames          []string `json:"AlarmNames"`
	AlarmNamePrefix     string   `json:"AlarmNamePrefix"`
	AlarmTypes          []string `json:"AlarmTypes"`
	ChildrenOfAlarmName string   `json:"ChildrenOfAlarmName"`
	ParentsOfAlarmName  string   `json:"ParentsOfAlarmName"`
	StateValue          string   `json:"StateValue"`
	ActionPrefix        string   `json:"ActionPrefix"`
	MaxRecords          *int32   `json:"MaxRecords"`
	NextToken           string   `json:"NextToken"`
}

// DescribeAlarmsOutput is the output of DescribeAlarms.
type DescribeAlarmsOutput struct {
	CompositeAlarms []CompositeAlarm `json:"CompositeAlarms"`
	MetricAlarms    []MetricAlarm    `json:"MetricAlarms"`
	NextToken       string           `json:"NextToken"`
}

// CompositeAlarm is an alarm on other alarms, which this server does not have.
type CompositeAlarm struct {
	AlarmName string `json:"AlarmName"`
}

const (
	alarmsPage    = 50  // CloudWatch: alarms of a page by default
	maxAlarmsPage = 100 // CloudWatch: the most
	maxAlarmNames = 100 // CloudWatch: of a request
)

// describeAlarms shows metric alarms only, unless AlarmTypes asks for others; 50 a page, at most 100 (AWS's API
// reference, DescribeAlarms).
func describeAlarms(s *Service, in *DescribeAlarmsInput) (*DescribeAlarmsOutput, error) {
	page, fault := in.check()
	if fault != nil {
		return nil, fault
	}
	after, known := wire.ReadPageToken(in.NextToken)
	if !known {
		return nil, invalidToken()
	}
	out := &DescribeAlarmsOutput{CompositeAlarms: []CompositeAlarm{}, MetricAlarms: []MetricAlarm{}}
	if len(in.AlarmTypes) > 0 && !slices.Contains(in.AlarmTypes, "MetricAlarm") {
		return out, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.sortedAlarms() {
		if after != "" && a.input.AlarmName <= after || !in.wants(a) {
			continue
		}
		if len(out.MetricAlarms) == page {
			out.NextToken = wire.PageToken(out.MetricAlarms[page-1].AlarmName)
			break
		}
		out.MetricAlarms = append(out.MetricAlarms, a.shown())
	}
	return out, nil
}

func (in *DescribeAlarmsInput) check() (page int, fault *wire.Error) {
	page = alarmsPage
	if in.MaxRecords != nil {
		page = int(*in.MaxRecords)
	}
	for _, kind := range in.AlarmTypes {
		if kind != "MetricAlarm" && kind != "CompositeAlarm" {
			return 0, notInSet(kind, "alarmTypes.1.member", []string{"CompositeAlarm", "MetricAlarm"})
		}
	}
	switch {
	case page < 1 || page > maxAlarmsPage:
		return 0, wire.Constraint(page, "maxRecords", "Member must have value between 1 and 100")
	case len(in.AlarmNames) > maxAlarmNames:
		return 0, asValidation(tooMany("AlarmNames", maxAlarmNames))
	case len(in.AlarmNames) > 0 && in.AlarmNamePrefix != "":
		return 0, asValidation(exclusive("AlarmNames", "AlarmNamePrefix"))
	case in.ChildrenOfAlarmName != "" || in.ParentsOfAlarmName != "":
		return 0, wire.Validation("ChildrenOfAlarmName and ParentsOfAlarmName need composite alarms, which this server does " +
			"not have.")
	case in.StateValue != "" && !slices.Contains(stateValues(), in.StateValue):
		return 0, notInSet(in.StateValue, "stateValue", stateValues())
	}
	return page, nil
}

// stateValues returns the states in the order in which AWS's errors list them.
func stateValues() []string { return []string{"INSUFFICIENT_DATA", "ALARM", "OK"} }

func (in *DescribeAlarmsInput) wants(a *metricAlarm) bool {
	switch {
	case len(in.AlarmNames) > 0 && !slices.Contains(in.AlarmNames, a.input.AlarmName),
		!strings.HasPrefix(a.input.AlarmName, in.AlarmNamePrefix),
		in.StateValue != "" && in.StateValue != string(a.state.value):
		return false
	case in.ActionPrefix == "":
		return true
	}
	all := slices.Concat(a.input.OKActions, a.input.AlarmActions, a.input.InsufficientDataActions)
	return slices.ContainsFunc(all, func(arn string) bool { return strings.HasPrefix(arn, in.ActionPrefix) })
}

// DescribeAlarmsForMetricInput is the input of DescribeAlarmsForMetric.
type DescribeAlarmsForMetricInput struct {
	AlarmMetric
}

// DescribeAlarmsForMetricOutput is the output of DescribeAlarmsForMetric.
type DescribeAlarmsForMetricOutput struct {
	MetricAlarms []MetricAlarm `json:"MetricAlarms"`
}

// describeAlarmsForMetric finds alarms with exactly these dimensions, and none that has the metric in an expression
// (AWS's API reference, DescribeAlarmsForMetric).
func describeAlarmsForMetric(s *Service, in *DescribeAlarmsForMetricInput) (*DescribeAlarmsForMetricOutput, error) {
	fault := checkName(in.MetricName, "MetricName")
	if fault == nil {
		fault = checkName(in.Namespace, "Namespace")
	}
	if fault != nil {
		return nil, asValidation(fault)
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
