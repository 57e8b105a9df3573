package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
)

func TestCloudWatchPutMetricAlarm(t *testing.T) {
	runMetrics(t, "a new alarm has insufficient data", func(m *metrics) {
		must(0, m.alarm("a", func(in *cloudwatch.PutMetricAlarmInput) {
			in.Tags = []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}
		}))(m.world)
		got := m.described("a")
		if got.StateValue != "INSUFFICIENT_DATA" || *got.StateReason != "Unchecked: Initial alarm creation" ||
			!*got.ActionsEnabled || got.TreatMissingData != nil || got.StateTransitionedTimestamp == nil ||
			!strings.HasSuffix(*got.AlarmArn, ":alarm:"+m.name("a")) {
			m.Errorf("%+v", got)
		}
	})
	runMetrics(t, "what is put is described", func(m *metrics) {
		topic := "arn:aws:sns:us-east-1:000000000000:t"
		must(0, m.alarm("a", func(in *cloudwatch.PutMetricAlarmInput) {
			in.AlarmDescription, in.ActionsEnabled = aws.String("<"), aws.Bool(false)
			in.OKActions, in.AlarmActions = []string{topic}, []string{topic}
			in.InsufficientDataActions = []string{topic}
			in.Statistic, in.ExtendedStatistic = "", aws.String("p99.9")
			in.Dimensions = []types.Dimension{{Name: aws.String("d"), Value: aws.String("v")}}
			in.Unit, in.EvaluationPeriods, in.DatapointsToAlarm = "Seconds", aws.Int32(3), aws.Int32(2)
			in.TreatMissingData, in.EvaluateLowSampleCountPercentile = aws.String("ignore"), aws.String("ignore")
		}))(m.world)
		got := m.described("a")
		if *got.AlarmDescription != "<" || *got.ActionsEnabled || *got.ExtendedStatistic != "p99.9" ||
			*got.DatapointsToAlarm != 2 || *got.TreatMissingData != "ignore" || got.Unit != "Seconds" ||
			*got.EvaluateLowSampleCountPercentile != "ignore" || len(got.OKActions) != 1 || got.Statistic != "" {
			m.Errorf("%+v", got)
		}
		found := must(m.c.DescribeAlarmsForMetric(m.ctx, &cloudwatch.DescribeAlarmsForMetricInput{
			Namespace: &m.namespace, MetricName: aws.String("m"), ExtendedStatistic: aws.String("p99.9"),
			Dimensions: got.Dimensions, Period: aws.Int32(60), Unit: "Seconds",
		}))(m.world)
		if len(found.MetricAlarms) != 1 {
			m.Errorf("%d alarms for the metric", len(found.MetricAlarms))
		}
		none := must(m.c.DescribeAlarmsForMetric(m.ctx, &cloudwatch.DescribeAlarmsForMetricInput{
			Namespace: &m.namespace, MetricName: aws.String("m"), Statistic: "Sum",
		}))(m.world)
		if len(none.MetricAlarms) != 0 {
			m.Errorf("%d alarms for another statistic", len(none.MetricAlarms))
		}
	})
	runMetrics(t, "an alarm on metric math", func(m *metrics) {
		q := m.stat("a", "m", "Sum")
		q.ReturnData, q.MetricStat.Unit = aws.Bool(false), "Count"
		q.MetricStat.Metric.Dimensions = []types.Dimension{{Name: aws.String("d"), Value: aws.String("v")}}
		must(0, m.alarm("a", func(in *cloudwatch.PutMetricAlarmInput) {
			in.Namespace, in.MetricName, in.Statistic, in.Period = nil, nil, "", nil
			in.Metrics = []types.MetricDataQuery{q, {
				Id: aws.String("e"), Expression: aws.String("a*2"), Label: aws.String("double"), Period: aws.Int32(60),
			}}
		}))(m.world)
		if got := m.described("a"); len(got.Metrics) != 2 || *got.Metrics[1].Expression != "a*2" {
			m.Errorf("%+v", got.Metrics)
		}
	})
	for _, c := range []struct {
		name, text string
		change     func(in *cloudwatch.PutMetricAlarmInput)
	}{
		{
			"more than a day", "Metrics cannot be checked across more than a day",
			func(in *cloudwatch.PutMetricAlarmInput) { in.EvaluationPeriods = aws.Int32(1441) },
		},
		{
			"a period of 45 s", "Period must be",
			func(in *cloudwatch.PutMetricAlarmInput) { in.Period = aws.Int32(45) },
		},
		{
			"an unknown treatment", "Supported values are [breaching, notBreaching, ignore, missing].",
			func(in *cloudwatch.PutMetricAlarmInput) { in.TreatMissingData = aws.String("x") },
		},
		{
			"an unknown operator", "enum value set",
			func(in *cloudwatch.PutMetricAlarmInput) { in.ComparisonOperator = "x" },
		},
		{
			"more datapoints than periods", "DatapointsToAlarm",
			func(in *cloudwatch.PutMetricAlarmInput) { in.DatapointsToAlarm = aws.Int32(2) },
		},
		{
			"two statistics", "mutually exclusive",
			func(in *cloudwatch.PutMetricAlarmInput) { in.ExtendedStatistic = aws.String("p50") },
		},
		{
			"an action that is no ARN", "Invalid arn syntax",
			func(in *cloudwatch.PutMetricAlarmInput) { in.OKActions = []string{"x"} },
		},
	} {
		runMetrics(t, c.name+" is refused", func(m *metrics) {
			m.refused(m.alarm("a", c.change), "ValidationError", c.text)
		})
	}
}

func TestCloudWatchDescribeAlarms(t *testing.T) {
	runMetrics(t, "filters and pages", func(m *metrics) {
		for _, name := range []string{"a1", "a2", "a3", "b1"} {
			must(0, m.alarm(name, func(in *cloudwatch.PutMetricAlarmInput) {
				in.AlarmActions = []string{"arn:aws:sns:us-east-1:000000000000:" + name}
			}))(m.world)
		}
		names := func(in *cloudwatch.DescribeAlarmsInput) (names []string) {
			for {
				out := must(m.c.DescribeAlarms(m.ctx, in))(m.world)
				for _, a := range out.MetricAlarms {
					names = append(names, strings.TrimPrefix(*a.AlarmName, m.prefix))
				}
				if in.NextToken = out.NextToken; in.NextToken == nil {
					return names
				}
			}
		}
		for want, in := range map[string]*cloudwatch.DescribeAlarmsInput{
			"a1 a2 a3": {AlarmNamePrefix: aws.String(m.name("a")), MaxRecords: aws.Int32(2)},
			"a3":       {ActionPrefix: aws.String("arn:aws:sns:us-east-1:000000000000:a3")},
			"b1":       {AlarmNames: []string{m.name("b1"), "none"}},
			"":         {AlarmNamePrefix: aws.String(m.prefix), StateValue: "OK"},
		} {
			if diff := cmp.Diff(want, strings.Join(names(in), " ")); diff != "" {
				m.Error(diff)
			}
		}
		if got := names(&cloudwatch.DescribeAlarmsInput{AlarmTypes: []types.AlarmType{"CompositeAlarm"}}); got != nil {
			m.Errorf("composite alarms: %v", got)
		}
	})
}

func TestCloudWatchAlarmState(t *testing.T) {
	set := func(m *metrics, name, state string) error {
		_, err := m.c.SetAlarmState(m.ctx, &cloudwatch.SetAlarmStateInput{
			AlarmName: aws.String(m.name(name)), StateValue: types.StateValue(state), StateReason: aws.String("test"),
			StateReasonData: aws.String(`{"a":1}`),
		})
		return err
	}
	runMetrics(t, "a state is set until the next evaluation", func(m *metrics) {
		must(0, m.alarm("a", nil))(m.world)
		must(0, set(m, "a", "ALARM"))(m.world)
		if got := m.described("a"); got.StateValue != "ALARM" || *got.StateReason != "test" ||
			*got.StateReasonData != `{"a":1}` {
			m.Errorf("%+v", got)
		}
		m.pass(2 * time.Minute)
		if got := m.described("a"); got.StateValue != "INSUFFICIENT_DATA" {
			m.Errorf("after an evaluation: %s", got.StateValue)
		}
	})
	runMetrics(t, "an unknown state, and an alarm that does not exist", func(m *metrics) {
		must(0, m.alarm("a", nil))(m.world)
		m.refused(set(m, "a", "INVALID"), "ValidationError", "1 validation error detected: Value 'INVALID' at "+
			"'stateValue' failed to satisfy constraint: Member must satisfy enum value set: [INSUFFICIENT_DATA, ALARM, OK]")
		err := set(m, "none", "OK")
		m.refused(err, "ResourceNotFound", "")
		if status(err) != 404 {
			m.Errorf("status %d", status(err))
		}
	})
	runMetrics(t, "actions are switched", func(m *metrics) {
		must(0, m.alarm("a", nil))(m.world)
		must(m.c.DisableAlarmActions(m.ctx, &cloudwatch.DisableAlarmActionsInput{
			AlarmNames: []string{m.name("a")},
		}))(m.world)
		if *m.described("a").ActionsEnabled {
			m.Error("the actions are enabled")
		}
		must(m.c.EnableAlarmActions(m.ctx, &cloudwatch.EnableAlarmActionsInput{
			AlarmNames: []string{m.name("a")},
		}))(m.world)
		if !*m.described("a").ActionsEnabled {
			m.Error("the actions are disabled")
		}
	})
	runMetrics(t, "a deleted alarm is gone", func(m *metrics) {
		must(0, m.alarm("a", nil))(m.world)
		in := &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{m.name("a")}}
		must(m.c.DeleteAlarms(m.ctx, in))(m.world)
		_, err := m.c.DeleteAlarms(m.ctx, in)
		m.refused(err, "ResourceNotFound", "")
	})
	runMetrics(t, "tags", func(m *metrics) {
		must(0, m.alarm("a", nil))(m.world)
		arn := m.described("a").AlarmArn
		must(m.c.TagResource(m.ctx, &cloudwatch.TagResourceInput{ResourceARN: arn, Tags: []types.Tag{
			{Key: aws.String("k"), Value: aws.String("v")}, {Key: aws.String("l"), Value: aws.String("w")},
		}}))(m.world)
		must(m.c.UntagResource(m.ctx, &cloudwatch.UntagResourceInput{
			ResourceARN: arn, TagKeys: []string{"k"},
		}))(m.world)
		got := must(m.c.ListTagsForResource(m.ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: arn}))(m.world)
		if len(got.Tags) != 1 || *got.Tags[0].Key != "l" {
			m.Errorf("%+v", got.Tags)
		}
		_, err := m.c.ListTagsForResource(m.ctx, &cloudwatch.ListTagsForResourceInput{
			ResourceARN: aws.String(*arn + "x"),
		})
		m.refused(err, "ResourceNotFoundException", "")
	})
}

func TestCloudWatchWhatIsNotBuilt(t *testing.T) {
	runMetrics(t, "an action that is not built is NotImplemented, and named", func(m *metrics) {
		if m.local == nil {
			m.Skip("another server may have it")
		}
		_, err := m.c.DescribeAlarmHistory(m.ctx, &cloudwatch.DescribeAlarmHistoryInput{})
		m.refused(err, "NotImplemented", "The action DescribeAlarmHistory of cloudwatch is not implemented")
		for _, c := range []struct{ name, target, content, body string }{
			{"awsJson", "GraniteServiceVersion20100801.PutDashboard", "application/x-amz-json-1.0", "{}"},
			{"query", "", "application/x-www-form-urlencoded", "Action=PutDashboard&Version=2010-08-01"},
		} {
			r := must(http.NewRequestWithContext(m.ctx, "POST", m.endpoint, strings.NewReader(c.body)))(m.world)
			r.Header.Set("Content-Type", c.content)
			if c.target != "" {
				r.Header.Set("X-Amz-Target", c.target)
			}
			answer := must(m.http.Do(r))(m.world)
			text := must(io.ReadAll(answer.Body))(m.world)
			_ = answer.Body.Close()
			if answer.StatusCode != 501 || !strings.Contains(string(text), "The action PutDashboard of cloudwatch") {
				m.Errorf("%s: %d %s", c.name, answer.StatusCode, text)
			}
		}
	})
}
