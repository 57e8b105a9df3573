package cloudwatch

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
)

// metricAlarm is one alarm. Its fields are guarded by the service's lock.
type metricAlarm struct {
	arn     string
	input   *PutMetricAlarmInput // replaced as a whole, never modified
	rule    alarm.Rule
	queries *queries // of an alarm on an expression; nil: it is on a metric
	load    load
	enabled bool // its actions
	updated time.Time
	tags    map[string]string
	state   alarmState
}

// alarmState is an alarm's state with its reason.
type alarmState struct {
	value      alarm.State
	reason     string
	data       string // JSON; "": none
	updated    time.Time
	transition time.Time // when the value changed last
}

// period returns the length of one datapoint.
func (a *metricAlarm) period() time.Duration {
	if a.queries == nil {
		return time.Duration(*a.input.Period) * time.Second
	}
	q := a.queries.decisive()
	if q.period > 0 {
		return q.period
	}
	for i := range a.queries.all {
		if p := a.queries.all[i].period; p > 0 {
			return p
		}
	}
	return time.Minute
}

// decisive returns the query whose data the alarm compares.
func (qs *queries) decisive() *query {
	for i := range qs.all {
		if q := &qs.all[i]; q.returned() {
			return q
		}
	}
	return &qs.all[0] // PutMetricAlarm refuses queries that return nothing
}

// MetricAlarm is an alarm as the API shows it.
type MetricAlarm struct {
	AlarmName                          string            `json:"AlarmName"`
	AlarmArn                           string            `json:"AlarmArn"`
	AlarmDescription                   *string           `json:"AlarmDescription"`
	AlarmConfigurationUpdatedTimestamp time.Time         `json:"AlarmConfigurationUpdatedTimestamp"`
	ActionsEnabled                     bool              `json:"ActionsEnabled"`
	OKActions                          []string          `json:"OKActions"`
	AlarmActions                       []string          `json:"AlarmActions"`
	InsufficientDataActions            []string          `json:"InsufficientDataActions"`
	StateValue                         string            `json:"StateValue"`
	StateReason                        string            `json:"StateReason"`
	StateReasonData                    string            `json:"StateReasonData"`
	StateUpdatedTimestamp              time.Time         `json:"StateUpdatedTimestamp"`
	MetricName                         string            `json:"MetricName"`
	Namespace                          string            `json:"Namespace"`
	Statistic                          string            `json:"Statistic"`
	ExtendedStatistic                  string            `json:"ExtendedStatistic"`
	Dimensions                         []Dimension       `json:"Dimensions"`
	Period                             *int32            `json:"Period"`
	Unit                               string            `json:"Unit"`
	EvaluationPeriods                  *int32            `json:"EvaluationPeriods"`
	DatapointsToAlarm                  *int32            `json:"DatapointsToAlarm"`
	Threshold                          *float64          `json:"Threshold"`
	ComparisonOperator                 string            `json:"ComparisonOperator"`
	TreatMissingData                   string            `json:"TreatMissingData"`
	EvaluateLowSampleCountPercentile   string            `json:"EvaluateLowSampleCountPercentile"`
	Metrics                            []MetricDataQuery `json:"Metrics"`
	StateTransitionedTimestamp         time.Time         `json:"StateTransitionedTimestamp"`
}

// shown returns an alarm as the API shows it; the caller holds the lock.
func (a *metricAlarm) shown() MetricAlarm {
	in := a.input
	return MetricAlarm{
		AlarmName: in.AlarmName, AlarmArn: a.arn, AlarmDescription: in.AlarmDescription,
		AlarmConfigurationUpdatedTimestamp: a.updated, ActionsEnabled: a.enabled,
		OKActions: shownList(in.OKActions), AlarmActions: shownList(in.AlarmActions),
		InsufficientDataActions: shownList(in.InsufficientDataActions),
		StateValue:              string(a.state.value), StateReason: a.state.reason, StateReasonData: a.state.data,
		StateUpdatedTimestamp: a.state.updated, StateTransitionedTimestamp: a.state.transition,
		MetricName: in.MetricName, Namespace: in.Namespace, Statistic: in.Statistic,
		ExtendedStatistic: in.ExtendedStatistic, Dimensions: shownList(in.Dimensions), Period: in.Period, Unit: in.Unit,
		EvaluationPeriods: in.EvaluationPeriods, DatapointsToAlarm: in.DatapointsToAlarm, Threshold: in.Threshold,
		ComparisonOperator: in.ComparisonOperator, TreatMissingData: in.TreatMissingData,
		EvaluateLowSampleCountPercentile: in.EvaluateLowSampleCountPercentile, Metrics: in.Metrics,
	}
}

// shownList returns a list that an answer shows although it is empty.
func shownList[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// sortedAlarms returns the alarms in order of their names; the caller holds the lock.
func (s *Service) sortedAlarms() []*metricAlarm {
	return slices.SortedFunc(maps.Values(s.alarms), func(a, b *metricAlarm) int {
		return strings.Compare(a.input.AlarmName, b.input.AlarmName)
	})
}

func (s *Service) alarmARN(name string) string {
	return "arn:aws:cloudwatch:" + s.opts.Region + ":" + s.opts.Account + ":alarm:" + name
}

// alarmByARN returns an alarm, or nil; the caller holds the lock.
func (s *Service) alarmByARN(arn string) *metricAlarm {
	name, ok := strings.CutPrefix(arn, s.alarmARN(""))
	if !ok {
		return nil
	}
	return s.alarms[name]
}
