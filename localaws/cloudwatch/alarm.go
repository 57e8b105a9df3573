package cloudwatch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/wire"
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

// AlarmMetric is the metric of an alarm.
type AlarmMetric struct {
	MetricName        string      `json:"MetricName"`
	Namespace         string      `json:"Namespace"`
	Statistic         string      `json:"Statistic"`
	ExtendedStatistic string      `json:"ExtendedStatistic"`
	Dimensions        []Dimension `json:"Dimensions"`
	Period            *int32      `json:"Period"`
	Unit              string      `json:"Unit"`
}

// AlarmCondition is what an alarm compares, and how.
type AlarmCondition struct {
	AlarmMetric
	EvaluationPeriods                *int32            `json:"EvaluationPeriods"`
	DatapointsToAlarm                *int32            `json:"DatapointsToAlarm"`
	Threshold                        *float64          `json:"Threshold"`
	ComparisonOperator               string            `json:"ComparisonOperator"`
	TreatMissingData                 string            `json:"TreatMissingData"`
	EvaluateLowSampleCountPercentile string            `json:"EvaluateLowSampleCountPercentile"`
	Metrics                          []MetricDataQuery `json:"Metrics"`
}

// MetricAlarm is an alarm as the API shows it.
type MetricAlarm struct {
	AlarmName                          string    `json:"AlarmName"`
	AlarmArn                           string    `json:"AlarmArn"`
	AlarmDescription                   *string   `json:"AlarmDescription"`
	AlarmConfigurationUpdatedTimestamp time.Time `json:"AlarmConfigurationUpdatedTimestamp"`
	ActionsEnabled                     bool      `json:"ActionsEnabled"`
	OKActions                          []string  `json:"OKActions"`
	AlarmActions                       []string  `json:"AlarmActions"`
	InsufficientDataActions            []string  `json:"InsufficientDataActions"`
	StateValue                         string    `json:"StateValue"`
	StateReason                        string    `json:"StateReason"`
	StateReasonData                    string    `json:"StateReasonData"`
	StateUpdatedTimestamp              time.Time `json:"StateUpdatedTimestamp"`
	AlarmCondition
	StateTransitionedTimestamp time.Time `json:"StateTransitionedTimestamp"`
}

// shown returns an alarm as the API shows it; the caller holds the lock.
func (a *metricAlarm) shown() MetricAlarm {
	in := a.input
	condition := in.AlarmCondition
	condition.Dimensions = shownList(in.Dimensions)
	return MetricAlarm{
		AlarmName: in.AlarmName, AlarmArn: a.arn, AlarmDescription: in.AlarmDescription,
		AlarmConfigurationUpdatedTimestamp: a.updated, ActionsEnabled: a.enabled,
		OKActions: shownList(in.OKActions), AlarmActions: shownList(in.AlarmActions),
		InsufficientDataActions: shownList(in.InsufficientDataActions),
		StateValue:              string(a.state.value), StateReason: a.state.reason, StateReasonData: a.state.data,
		StateUpdatedTimestamp: a.state.updated, StateTransitionedTimestamp: a.state.transition,
		AlarmCondition: condition,
	}
}

// shownList returns a list that an answer shows although it is empty.
func shownList[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// set adds an alarm, or replaces the one of its name.
func (s *Service) set(a *metricAlarm, tags map[string]string) *wire.Error {
	now := s.opts.Clock.Now()
	a.updated = now
	s.mu.Lock()
	defer s.mu.Unlock()
	name := a.input.AlarmName
	var before load
	switch old := s.alarms[name]; {
	case old != nil:
		a.state, a.tags, before = old.state, old.tags, old.load // tags can be set only with a new alarm
	case len(s.alarms) >= maxAlarms:
		return tooMuch("alarms in %s are %d already, AWS's quota", s.opts.Region, maxAlarms)
	default:
		a.tags = tags
		a.state = alarmState{
			value: alarm.Insufficient, reason: "Unchecked: Initial alarm creation", updated: now, transition: now,
		}
	}
	if fault := s.opts.Bounds.take(before, a.load, false); fault != nil {
		return fault
	}
	s.alarms[name] = a
	a.keep(s.opts.Store)
	return nil
}

// sortedAlarms returns the alarms in order of their names; the caller holds the lock.
func (s *Service) sortedAlarms() []*metricAlarm {
	return slices.SortedFunc(maps.Values(s.alarms), func(a, b *metricAlarm) int {
		return strings.Compare(a.input.AlarmName, b.input.AlarmName)
	})
}

func (s *Service) alarmARN(name string) string {
	return wire.Place{Account: s.opts.Account, Region: s.opts.Region}.ARN("cloudwatch", "alarm:"+name)
}

// alarmByARN returns an alarm, or nil; the caller holds the lock.
func (s *Service) alarmByARN(arn string) *metricAlarm {
	name, ok := strings.CutPrefix(arn, s.alarmARN(""))
	if !ok {
		return nil
	}
	return s.alarms[name]
}

// DeleteAlarmsInput is the input of DeleteAlarms.
type DeleteAlarmsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// deleteAlarms deletes all alarms, or none if one of them does not exist (AWS's API reference, DeleteAlarms).
func deleteAlarms(s *Service, in *DeleteAlarmsInput) (*Empty, error) {
	if fault := checkAlarmNames(in.AlarmNames); fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range in.AlarmNames {
		if s.alarms[name] == nil {
			return nil, noAlarm()
		}
	}
	for _, name := range in.AlarmNames {
		if a := s.alarms[name]; a != nil { // unless it is named twice
			a.forget(&s.opts)
		}
		delete(s.alarms, name)
	}
	return &Empty{}, nil
}

// EnableAlarmActionsInput is the input of EnableAlarmActions.
type EnableAlarmActionsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// enableAlarmActions takes no action for the state that an alarm is in. A name without an alarm is ignored.
func enableAlarmActions(s *Service, in *EnableAlarmActionsInput) (*Empty, error) {
	if fault := switchActions(s, in.AlarmNames, true); fault != nil {
		return nil, fault
	}
	return &Empty{}, nil
}

// switchActions switches the actions of alarms on or off. Names without an alarm are ignored.
func switchActions(s *Service, names []string, on bool) *wire.Error {
	if fault := checkAlarmNames(names); fault != nil {
		return fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if a := s.alarms[name]; a != nil {
			a.enabled = on
			a.keep(s.opts.Store)
		}
	}
	return nil
}

func checkAlarmNames(names []string) *wire.Error {
	switch {
	case len(names) == 0:
		return asValidation(required("AlarmNames"))
	case len(names) > maxAlarmNames:
		return asValidation(tooMany("AlarmNames", maxAlarmNames))
	}
	return nil
}

// DisableAlarmActionsInput is the input of DisableAlarmActions.
type DisableAlarmActionsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// disableAlarmActions leaves the evaluation: the state still changes, and nothing is told (AWS's API reference). A name
// without an alarm is ignored.
func disableAlarmActions(s *Service, in *DisableAlarmActionsInput) (*Empty, error) {
	if fault := switchActions(s, in.AlarmNames, false); fault != nil {
		return nil, fault
	}
	return &Empty{}, nil
}

// SetAlarmStateInput is the input of SetAlarmState.
type SetAlarmStateInput struct {
	AlarmName       string  `json:"AlarmName"`
	StateValue      string  `json:"StateValue"`
	StateReason     *string `json:"StateReason"`
	StateReasonData string  `json:"StateReasonData"`
}

const (
	maxReason     = 1023 // CloudWatch
	maxReasonData = 4000 // CloudWatch
)

// setAlarmState sets a state until the next evaluation decides otherwise, and carries out its actions (AWS's API
// reference, SetAlarmState).
func setAlarmState(s *Service, in *SetAlarmStateInput) (*Empty, error) {
	switch {
	case in.AlarmName == "":
		return nil, asValidation(required("AlarmName"))
	case !slices.Contains(stateValues(), in.StateValue):
		return nil, notInSet(in.StateValue, "stateValue", stateValues())
	case in.StateReason == nil:
		return nil, asValidation(required("StateReason"))
	case len([]rune(*in.StateReason)) > maxReason:
		return nil, wire.Constraint(*in.StateReason, "stateReason",
			"Member must have length less than or equal to 1023")
	case len([]rune(in.StateReasonData)) > maxReasonData:
		return nil, wire.Constraint(in.StateReasonData, "stateReasonData",
			"Member must have length less than or equal to 4000")
	case in.StateReasonData != "" && !json.Valid([]byte(in.StateReasonData)):
		return nil, &wire.Error{
			Code: "InvalidFormatFault", Query: "InvalidFormat", Message: "The state reason data is not valid JSON.",
		}
	}
	s.mu.Lock()
	a := s.alarms[in.AlarmName]
	if a == nil {
		s.mu.Unlock()
		return nil, noAlarm()
	}
	n := change(s, a, alarm.State(in.StateValue), *in.StateReason, in.StateReasonData)
	s.mu.Unlock()
	carryOut(s, n)
	return &Empty{}, nil
}
