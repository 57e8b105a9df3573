package cloudwatch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// notice is what an alarm tells its actions.
type notice struct {
	alarmARN string
	name     string
	actions  []string
	subject  string
	message  string
}

// change sets an alarm's state, and returns what to tell its actions; nil: nothing. The caller holds the lock.
func change(s *Service, a *metricAlarm, to alarm.State, reason, data string) *notice {
	now := s.opts.Clock.Now()
	from := a.state.value
	a.state.value, a.state.reason, a.state.data, a.state.updated = to, reason, data, now
	if from != to {
		a.state.transition = now
	}
	a.keep(s.opts.Store)
	if from == to {
		return nil
	}
	actions := map[alarm.State][]string{
		alarm.OK: a.input.OKActions, alarm.Alarm: a.input.AlarmActions,
		alarm.Insufficient: a.input.InsufficientDataActions,
	}[to]
	if !a.enabled || len(actions) == 0 {
		return nil
	}
	return &notice{
		alarmARN: a.arn, name: a.input.AlarmName, actions: actions,
		subject: subject(a.input.AlarmName, to, s.opts.Region), message: message(s, a, from),
	}
}

// carryOut publishes to the alarm's topics. The caller holds no lock.
func carryOut(s *Service, n *notice) {
	if n == nil {
		return
	}
	for _, arn := range n.actions {
		if !wire.IsOf("sns", arn) || s.opts.Topics == nil {
			s.log.Warn("cloudwatch: an alarm's action is not carried out: this server has only topics",
				slog.String("alarm", n.name), slog.String("action", arn))
			continue
		}
		if err := s.opts.Topics.Publish(arn, n.alarmARN, n.subject, n.message); err != nil {
			s.log.Warn("cloudwatch: an alarm could not publish", slog.String("alarm", n.name),
				slog.String("action", arn), slog.Any("error", err))
		}
	}
}

// maxSubject is SNS's limit.
const maxSubject = 100

func subject(name string, to alarm.State, region string) string {
	whole := fmt.Sprintf(`%s: "%s" in %s`, to, name, regionName(region))
	if over := len([]rune(whole)) - maxSubject; over > 0 {
		short := []rune(name)
		short = short[:max(0, len(short)-over-len("..."))]
		whole = fmt.Sprintf(`%s: "%s..." in %s`, to, string(short), regionName(region))
	}
	return whole
}

// notification is the JSON that CloudWatch publishes.
type notification struct {
	AlarmName                          string
	AlarmDescription                   *string
	AWSAccountID                       string `json:"AWSAccountId"`
	AlarmConfigurationUpdatedTimestamp string
	NewStateValue                      alarm.State
	NewStateReason                     string
	StateChangeTime                    string
	Region                             string
	AlarmArn                           string
	OldStateValue                      alarm.State
	OKActions                          []string
	AlarmActions                       []string
	InsufficientDataActions            []string
	Trigger                            any
}

// trigger is what the alarm watches.
type trigger struct {
	MetricName        string             `json:",omitempty"`
	Namespace         string             `json:",omitempty"`
	StatisticType     string             `json:",omitempty"`
	Statistic         string             `json:",omitempty"`
	ExtendedStatistic string             `json:",omitempty"`
	Unit              *string            `json:"Unit"`
	Dimensions        []triggerDimension `json:"Dimensions"`
	Period            *int32             `json:",omitempty"`
	triggerRule
}

// queryTrigger is what an alarm on an expression watches.
type queryTrigger struct {
	Metrics []any
	triggerRule
}

type triggerRule struct {
	EvaluationPeriods                *int32
	DatapointsToAlarm                *int32 `json:",omitempty"`
	ComparisonOperator               string
	Threshold                        number
	TreatMissingData                 string
	EvaluateLowSampleCountPercentile string
}

type triggerDimension struct {
	Value string `json:"value"`
	Name  string `json:"name"`
}

// number is a number that JSON writes with a fraction.
type number float64

func (x number) MarshalJSON() ([]byte, error) { return []byte(alarm.Number(float64(x))), nil }

// message returns the text that is published; the caller holds the lock.
func message(s *Service, a *metricAlarm, from alarm.State) string {
	in := a.input
	n := notification{
		AlarmName: in.AlarmName, AlarmDescription: in.AlarmDescription, AWSAccountID: s.opts.Account,
		AlarmConfigurationUpdatedTimestamp: alarm.Time(a.updated), NewStateValue: a.state.value,
		NewStateReason: a.state.reason, StateChangeTime: alarm.Time(a.state.updated), Region: regionName(s.opts.Region),
		AlarmArn: a.arn, OldStateValue: from, OKActions: shownList(in.OKActions),
		AlarmActions: shownList(in.AlarmActions), InsufficientDataActions: shownList(in.InsufficientDataActions),
		Trigger: a.trigger(),
	}
	text, err := json.Marshal(n)
	if err != nil { // cannot happen: everything in it is text or a finite number
		return fmt.Sprintf("%s: %v", a.arn, err)
	}
	return string(text)
}

func (a *metricAlarm) trigger() any {
	in := a.input
	rule := triggerRule{
		EvaluationPeriods: in.EvaluationPeriods, DatapointsToAlarm: in.DatapointsToAlarm,
		ComparisonOperator: in.ComparisonOperator, Threshold: number(*in.Threshold),
		TreatMissingData:                 string(alarm.TreatMissing),
		EvaluateLowSampleCountPercentile: in.EvaluateLowSampleCountPercentile,
	}
	if in.TreatMissingData != "" {
		rule.TreatMissingData = in.TreatMissingData
	}
	if a.queries != nil {
		t := queryTrigger{triggerRule: rule}
		for i := range in.Metrics {
			t.Metrics = append(t.Metrics, queryView(&in.Metrics[i]))
		}
		return t
	}
	t := trigger{
		MetricName: in.MetricName, Namespace: in.Namespace, Period: in.Period, triggerRule: rule,
		Dimensions: []triggerDimension{},
	}
	for _, d := range in.Dimensions {
		t.Dimensions = append(t.Dimensions, triggerDimension{Value: d.Value, Name: d.Name})
	}
	if in.Unit != "" {
		t.Unit = &in.Unit
	}
	if in.ExtendedStatistic != "" {
		t.StatisticType, t.ExtendedStatistic = "ExtendedStatistic", in.ExtendedStatistic
	} else {
		t.StatisticType, t.Statistic = "Statistic", upperStatistic(in.Statistic)
	}
	return t
}

// upperStatistic returns a statistic as notifications write it: SAMPLE_COUNT.
func upperStatistic(name string) string {
	if name == "SampleCount" {
		return "SAMPLE_COUNT"
	}
	return strings.ToUpper(name)
}

// queryView returns a query as notifications show it.
func queryView(q *MetricDataQuery) map[string]any {
	v := map[string]any{"Id": q.ID, "ReturnData": q.ReturnData == nil || *q.ReturnData}
	if q.Label != "" {
		v["Label"] = q.Label
	}
	if q.Expression != "" {
		v["Expression"] = q.Expression
		return v
	}
	m := q.MetricStat
	at := []triggerDimension{}
	for _, d := range m.Metric.Dimensions {
		at = append(at, triggerDimension{Value: d.Value, Name: d.Name})
	}
	stat := map[string]any{
		"Metric": map[string]any{
			"Dimensions": at, "MetricName": m.Metric.MetricName, "Namespace": m.Metric.Namespace,
		},
		"Period": m.Period, "Stat": m.Stat,
	}
	if m.Unit != "" && m.Unit != metric.NoUnit {
		stat["Unit"] = m.Unit
	}
	v["MetricStat"] = stat
	return v
}

// regionName returns the name of a region in notifications; its code, if AWS has no such region.
func regionName(code string) string {
	name, known := map[string]string{
		"us-east-1": "US East (N. Virginia)", "us-east-2": "US East (Ohio)", "us-west-1": "US West (N. California)",
		"us-west-2": "US West (Oregon)", "af-south-1": "Africa (Cape Town)", "ap-east-1": "Asia Pacific (Hong Kong)",
		"ap-south-1": "Asia Pacific (Mumbai)", "ap-south-2": "Asia Pacific (Hyderabad)",
		"ap-northeast-1": "Asia Pacific (Tokyo)", "ap-northeast-2": "Asia Pacific (Seoul)",
		"ap-northeast-3": "Asia Pacific (Osaka)", "ap-southeast-1": "Asia Pacific (Singapore)",
		"ap-southeast-2": "Asia Pacific (Sydney)", "ap-southeast-3": "Asia Pacific (Jakarta)",
		"ap-southeast-4": "Asia Pacific (Melbourne)", "ca-central-1": "Canada (Central)",
		"ca-west-1": "Canada West (Calgary)", "eu-central-1": "EU (Frankfurt)", "eu-central-2": "Europe (Zurich)",
		"eu-west-1": "EU (Ireland)", "eu-west-2": "EU (London)", "eu-west-3": "EU (Paris)",
		"eu-north-1": "EU (Stockholm)", "eu-south-1": "EU (Milan)", "eu-south-2": "Europe (Spain)",
		"il-central-1": "Israel (Tel Aviv)", "me-south-1": "Middle East (Bahrain)",
		"me-central-1": "Middle East (UAE)", "sa-east-1": "South America (Sao Paulo)",
	}[code]
	if !known {
		return code
	}
	return name
}
