package cloudwatch

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// PutMetricAlarmInput is the input of PutMetricAlarm.
type PutMetricAlarmInput struct {
	AlarmName               string   `json:"AlarmName"`
	AlarmDescription        *string  `json:"AlarmDescription"`
	ActionsEnabled          *bool    `json:"ActionsEnabled"`
	OKActions               []string `json:"OKActions"`
	AlarmActions            []string `json:"AlarmActions"`
	InsufficientDataActions []string `json:"InsufficientDataActions"`
	AlarmCondition
	ThresholdMetricID string `json:"ThresholdMetricId"`
	Tags              []Tag  `json:"Tags"`
}

const (
	maxActions     = 5 // CloudWatch: for a state
	maxDescription = 1024
	day            = 86_400
)

// putMetricAlarm creates an alarm, or replaces the configuration of an existing one, which keeps its state and its tags
// (AWS's API reference, PutMetricAlarm).
func putMetricAlarm(s *Service, in *PutMetricAlarmInput) (*Empty, error) {
	a, fault := newAlarm(s, in)
	if fault != nil {
		return nil, fault
	}
	tags, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	if fault := s.set(a, tags); fault != nil {
		return nil, fault
	}
	s.watch(a)
	return &Empty{}, nil
}

// newAlarm checks a configuration.
func newAlarm(s *Service, in *PutMetricAlarmInput) (*metricAlarm, *wire.Error) {
	a := &metricAlarm{
		arn: s.alarmARN(in.AlarmName), input: in, enabled: in.ActionsEnabled == nil || *in.ActionsEnabled,
	}
	for _, check := range []func() *wire.Error{
		in.checkNames, in.checkOptions, in.checkActions, func() *wire.Error { return in.checkTopics(s.opts.Region) },
		func() *wire.Error { return in.checkData(a) },
		func() *wire.Error { return in.checkPeriods(a) },
	} {
		if fault := check(); fault != nil {
			return nil, asValidation(fault)
		}
	}
	a.rule = in.rule()
	a.load = loadOf(a)
	return a, nil
}

// rule returns the rule of a configuration that was checked.
func (in *PutMetricAlarmInput) rule() alarm.Rule {
	r := alarm.Rule{
		Threshold: *in.Threshold, Comparison: alarm.Comparison(in.ComparisonOperator),
		Periods: int(*in.EvaluationPeriods), Missing: alarm.Missing(in.TreatMissingData),
	}
	if in.DatapointsToAlarm != nil {
		r.ToAlarm = int(*in.DatapointsToAlarm)
	}
	return r
}

func (in *PutMetricAlarmInput) checkNames() *wire.Error {
	if fault := checkName(in.AlarmName, "AlarmName"); fault != nil {
		return fault
	}
	switch {
	case in.ThresholdMetricID != "":
		return noAnomalyDetection("The parameter ThresholdMetricId")
	case strings.HasSuffix(in.ComparisonOperator, "UpperThreshold") ||
		strings.HasSuffix(in.ComparisonOperator, "LowerThreshold"):
		return noAnomalyDetection("The comparison operator " + in.ComparisonOperator)
	case in.AlarmDescription != nil && len([]rune(*in.AlarmDescription)) > maxDescription:
		return wire.Constraint(*in.AlarmDescription, "alarmDescription",
			"Member must have length less than or equal to 1024")
	case in.EvaluationPeriods == nil:
		return required("EvaluationPeriods")
	case *in.EvaluationPeriods < 1:
		return wire.Constraint(*in.EvaluationPeriods, "evaluationPeriods",
			"Member must have value greater than or equal to 1")
	case in.Threshold == nil:
		return required("Threshold")
	case math.IsNaN(*in.Threshold) || math.IsInf(*in.Threshold, 0):
		return invalidValue("The value %v for parameter Threshold is invalid.", *in.Threshold)
	case in.ComparisonOperator == "":
		return required("ComparisonOperator")
	case in.DatapointsToAlarm != nil && (*in.DatapointsToAlarm < 1 || *in.DatapointsToAlarm > *in.EvaluationPeriods):
		return invalidValue("The parameter DatapointsToAlarm must be at least 1 and at most EvaluationPeriods.")
	}
	return nil
}

func (in *PutMetricAlarmInput) checkOptions() *wire.Error {
	operators := []string{
		string(alarm.GreaterOrEqual), string(alarm.Greater), string(alarm.Less), string(alarm.LessOrEqual),
	}
	treatments := []string{"breaching", "notBreaching", "ignore", "missing"}
	switch {
	case !slices.Contains(operators, in.ComparisonOperator):
		return notInSet(in.ComparisonOperator, "comparisonOperator", operators)
	case in.TreatMissingData != "" && !slices.Contains(treatments, in.TreatMissingData):
		return wire.Validation("The value %s is not supported for TreatMissingData parameter. Supported values are "+
			"[breaching, notBreaching, ignore, missing].", in.TreatMissingData)
	case !slices.Contains([]string{"", "evaluate", "ignore"}, in.EvaluateLowSampleCountPercentile):
		return wire.Validation("Option %s is not supported. Supported options for parameter "+
			"EvaluateLowSampleCountPercentile are evaluate and ignore.", in.EvaluateLowSampleCountPercentile)
	}
	return nil
}

func (in *PutMetricAlarmInput) checkActions() *wire.Error {
	for _, of := range []struct {
		name string
		arns []string
	}{
		{"OKActions", in.OKActions},
		{"AlarmActions", in.AlarmActions},
		{"InsufficientDataActions", in.InsufficientDataActions},
	} {
		if len(of.arns) > maxActions {
			return tooMany(of.name, maxActions)
		}
		for _, arn := range of.arns {
			if !strings.HasPrefix(arn, "arn:") || strings.Count(arn, ":") < 5 {
				return wire.Validation("Invalid arn syntax: %s", arn)
			}
		}
	}
	return nil
}

// checkTopics refuses topics of other regions, with AWS's text.
func (in *PutMetricAlarmInput) checkTopics(region string) *wire.Error {
	for _, arn := range slices.Concat(in.OKActions, in.AlarmActions, in.InsufficientDataActions) {
		at, ok := wire.PlaceOf(arn)
		if ok && at.Region != region && wire.IsOf("sns", arn) {
			return wire.Validation("Invalid region %s specified. Only %s is supported.", at.Region, region)
		}
	}
	return nil
}

// checkData checks what the alarm watches: a metric, or queries that return one series.
func (in *PutMetricAlarmInput) checkData(a *metricAlarm) *wire.Error {
	if len(in.Metrics) > 0 {
		return in.checkQueries(a)
	}
	fault := checkName(in.MetricName, "MetricName")
	if fault == nil {
		fault = checkName(in.Namespace, "Namespace")
	}
	if fault == nil {
		fault = checkUnit(in.Unit, "Unit")
	}
	if fault == nil {
		_, fault = metricID(in.Namespace, in.MetricName, in.Dimensions, "Dimensions")
	}
	switch {
	case fault != nil:
		return fault
	case in.Statistic != "" && in.ExtendedStatistic != "":
		return exclusive("Statistic", "ExtendedStatistic")
	case in.Statistic == "" && in.ExtendedStatistic == "":
		return missingParameter("At least one of the parameters Statistic and ExtendedStatistic must be specified.")
	case in.Statistic != "" && !metric.Simple(in.Statistic):
		return notInSet(in.Statistic, "statistic", simpleStatistics())
	case in.Period == nil:
		return required("Period")
	}
	if in.ExtendedStatistic != "" {
		if _, ok := metric.Parse(in.ExtendedStatistic); !ok || metric.Simple(in.ExtendedStatistic) {
			return invalidValue("The value %s for parameter ExtendedStatistic is not supported.", in.ExtendedStatistic)
		}
	}
	return nil
}

func (in *PutMetricAlarmInput) checkQueries(a *metricAlarm) *wire.Error {
	for _, member := range []struct {
		name  string
		given bool
	}{
		{"MetricName", in.MetricName != ""},
		{"Namespace", in.Namespace != ""},
		{"Statistic", in.Statistic != ""},
		{"ExtendedStatistic", in.ExtendedStatistic != ""},
		{"Dimensions", len(in.Dimensions) > 0},
		{"Period", in.Period != nil},
		{"Unit", in.Unit != ""},
	} {
		if member.given {
			return exclusive(member.name, "Metrics")
		}
	}
	qs, fault := parseQueries(in.Metrics, "Metrics")
	if fault != nil {
		return fault
	}
	returned := 0
	for i := range qs.all {
		if s := qs.all[i].selection; s != nil && len(s.GroupBy) > 0 {
			return wire.Validation("Alarms on a query with GROUP BY are not supported by this server: an alarm watches one " +
				"time series.")
		}
		if qs.all[i].returned() {
			returned++
		}
	}
	if returned != 1 {
		return wire.Validation("Exactly one element of the metrics list should return data.")
	}
	a.queries = qs
	return nil
}

func (in *PutMetricAlarmInput) checkPeriods(a *metricAlarm) *wire.Error {
	if in.Period != nil {
		if p := *in.Period; p != 10 && p != 20 && p != 30 && (p <= 0 || p%60 != 0) {
			return wire.Validation("Period must be 10, 20, 30 or a multiple of 60")
		}
	}
	seconds := int64(a.period().Seconds())
	switch total := seconds * int64(*in.EvaluationPeriods); {
	case seconds < 3600 && total > day:
		return wire.Validation("Metrics cannot be checked across more than a day " +
			"(EvaluationPeriods * Period must be <= 86400).")
	case total > maxPeriod:
		return wire.Validation("Metrics cannot be checked across more than seven days " +
			"(EvaluationPeriods * Period must be <= 604800).")
	}
	return nil
}

// Tag is a tag of an alarm.
type Tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

const (
	maxTags     = 50 // CloudWatch: of an alarm
	maxTagKey   = 128
	maxTagValue = 256
)

func tagMap(tags []Tag) (map[string]string, *wire.Error) {
	m := map[string]string{}
	for _, t := range tags {
		if fault := checkText(t.Key, "Tags.Key", maxTagKey); fault != nil {
			return nil, fault
		}
		if len([]rune(t.Value)) > maxTagValue {
			return nil, invalidValue("The value of the tag %s is longer than %d characters.", t.Key, maxTagValue)
		}
		m[t.Key] = t.Value
	}
	if len(m) > maxTags {
		return nil, tooMany("Tags", maxTags)
	}
	return m, nil
}

// tagList returns tags in order of their keys.
func tagList(tags map[string]string) []Tag {
	list := make([]Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, Tag{Key: key, Value: tags[key]})
	}
	return list
}
