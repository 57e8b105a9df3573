package localaws_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
)

// alerts has a server with an alarm whose topic has a queue.
type alerts struct {
	*testing.T
	server *localaws.Server
	c      *cloudwatch.Client
	told   int
}

// topicARN is the topic that alarms publish to.
const topicARN = "arn:aws:sns:us-east-1:000000000000:alerts"

func newAlerts(t *testing.T, server *localaws.Server, c *cloudwatch.Client) *alerts {
	t.Helper()
	arn := "arn:aws:sqs:us-east-1:000000000000:alerts"
	plant(t, server, `{
		"queues": [{"name": "alerts", "attributes": {"Policy": {"Statement": [{"Effect": "Allow", "Principal": "*",
			"Action": "sqs:SendMessage", "Resource": "`+arn+`"}]}}}],
		"topics": [{"name": "alerts", "subscriptions": [{"queue": "alerts",
			"attributes": {"RawMessageDelivery": true}}]}]
	}`)
	return &alerts{T: t, server: server, c: c}
}

func (a *alerts) put(in *cloudwatch.PutMetricAlarmInput) {
	a.Helper()
	in.AlarmName = aws.String("backlog")
	in.AlarmActions, in.OKActions = []string{topicARN}, []string{topicARN}
	in.InsufficientDataActions = []string{topicARN}
	if _, err := a.c.PutMetricAlarm(a.Context(), in); err != nil {
		a.Fatal(err)
	}
}

// value puts a value of the metric app/depth.
func (a *alerts) value(x float64) {
	a.Helper()
	if _, err := a.c.PutMetricData(a.Context(), &cloudwatch.PutMetricDataInput{
		Namespace: aws.String("app"), MetricData: []types.MetricDatum{{MetricName: aws.String("depth"), Value: &x}},
	}); err != nil {
		a.Fatal(err)
	}
}

// alarm returns the alarm.
func (a *alerts) alarm() types.MetricAlarm {
	a.Helper()
	out, err := a.c.DescribeAlarms(a.Context(), &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{"backlog"}})
	if err != nil || len(out.MetricAlarms) != 1 {
		a.Fatalf("describe: %+v %v", out, err)
	}
	return out.MetricAlarms[0]
}

// news returns the messages that the topic got since the last call.
func (a *alerts) news() []map[string]any {
	a.Helper()
	var all []map[string]any
	for _, m := range a.server.SQS().Queue("alerts").Model().Messages()[a.told:] {
		var text map[string]any
		if err := json.Unmarshal([]byte(m.Body), &text); err != nil {
			a.Fatal(err)
		}
		all = append(all, text)
		a.told++
	}
	return all
}

// TestAlarm: an alarm goes to ALARM and back on the server's clock, and publishes AWS's JSON.
func TestAlarm(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, c *cloudwatch.Client) {
		a := newAlerts(t, server, c)
		a.put(&cloudwatch.PutMetricAlarmInput{
			MetricName: aws.String("depth"), Namespace: aws.String("app"), Statistic: "Maximum", Period: aws.Int32(60),
			EvaluationPeriods: aws.Int32(2), Threshold: aws.Float64(10), ComparisonOperator: "GreaterThanThreshold",
		})
		if got := a.alarm(); got.StateValue != "INSUFFICIENT_DATA" ||
			*got.StateReason != "Unchecked: Initial alarm creation" {
			t.Errorf("a new alarm: %+v", got)
		}
		a.value(11)
		server.Advance(time.Minute)
		if got := a.alarm().StateValue; got != "INSUFFICIENT_DATA" {
			t.Errorf("after one of two periods: %s", got)
		}
		a.value(12.5)
		server.Advance(time.Minute)
		got := a.alarm()
		want := "Threshold Crossed: 2 datapoints [12.5 (01/01/00 00:01:00), 11.0 (01/01/00 00:00:00)] were greater " +
			"than the threshold (10.0)."
		if got.StateValue != "ALARM" || *got.StateReason != want {
			t.Errorf("after two periods: %s, %s", got.StateValue, *got.StateReason)
		}
		news := a.news()
		if len(news) != 1 || news[0]["NewStateReason"] != want || news[0]["OldStateValue"] != "INSUFFICIENT_DATA" ||
			news[0]["Region"] != "US East (N. Virginia)" ||
			news[0]["StateChangeTime"] != "2000-01-01T00:02:00.000+0000" {
			t.Errorf("published: %v", news)
		}
		trigger := map[string]any{
			"MetricName": "depth", "Namespace": "app", "StatisticType": "Statistic", "Statistic": "MAXIMUM",
			"Unit": nil, "Dimensions": []any{}, "Period": 60.0, "EvaluationPeriods": 2.0, "Threshold": 10.0,
			"ComparisonOperator": "GreaterThanThreshold", "TreatMissingData": "missing",
			"EvaluateLowSampleCountPercentile": "",
		}
		if diff := cmp.Diff(trigger, news[0]["Trigger"]); diff != "" {
			t.Errorf("trigger (-want +got):\n%s", diff)
		}
		a.value(3)
		server.Advance(time.Minute)
		if got := a.alarm().StateValue; got != "OK" {
			t.Errorf("after a period within the threshold: %s", got)
		}
		server.Advance(5 * time.Minute)
		got = a.alarm()
		if got.StateValue != "INSUFFICIENT_DATA" ||
			*got.StateReason != "Insufficient Data: 2 datapoints were unknown." {
			t.Errorf("without data: %s, %s", got.StateValue, *got.StateReason)
		}
		if n := len(a.news()); n != 2 {
			t.Errorf("%d more messages, want 2", n)
		}
		if _, err := c.DisableAlarmActions(t.Context(), &cloudwatch.DisableAlarmActionsInput{
			AlarmNames: []string{"backlog"},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SetAlarmState(t.Context(), &cloudwatch.SetAlarmStateInput{
			AlarmName: aws.String("backlog"), StateValue: "OK", StateReason: aws.String("by hand"),
		}); err != nil {
			t.Fatal(err)
		}
		if got := a.alarm(); got.StateValue != "OK" || *got.StateReason != "by hand" || *got.ActionsEnabled {
			t.Errorf("set by hand: %+v", got)
		}
		server.Advance(time.Minute)
		if got := a.alarm().StateValue; got != "INSUFFICIENT_DATA" || len(a.news()) != 0 {
			t.Errorf("the next evaluation leaves %s", got)
		}
	})
}

// TestAlarmOfExpression: an alarm on metric math, evaluated every ten seconds.
func TestAlarmOfExpression(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, c *cloudwatch.Client) {
		a := newAlerts(t, server, c)
		metric := &types.MetricStat{
			Metric: &types.Metric{Namespace: aws.String("app"), MetricName: aws.String("depth")},
			Period: aws.Int32(10), Stat: aws.String("Sum"),
		}
		a.put(&cloudwatch.PutMetricAlarmInput{
			EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(100),
			ComparisonOperator: "GreaterThanOrEqualToThreshold", TreatMissingData: aws.String("notBreaching"),
			Metrics: []types.MetricDataQuery{
				{Id: aws.String("m"), MetricStat: metric, ReturnData: aws.Bool(false)},
				{Id: aws.String("e"), Expression: aws.String("FILL(m, 0) * 10")},
			},
		})
		server.Advance(10 * time.Second)
		if got := a.alarm().StateValue; got != "OK" {
			t.Errorf("without data: %s", got)
		}
		if _, err := c.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("app"), MetricData: []types.MetricDatum{{
				MetricName: aws.String("depth"), Value: aws.Float64(10), StorageResolution: aws.Int32(1),
			}},
		}); err != nil {
			t.Fatal(err)
		}
		server.Advance(10 * time.Second)
		if got := a.alarm(); got.StateValue != "ALARM" ||
			!strings.Contains(*got.StateReason, "[100.0 (01/01/00 00:00:10)]") {
			t.Errorf("with data: %s, %s", got.StateValue, *got.StateReason)
		}
	})
}

// TestAlarmWaitsAsLongAsItAdvances: real waiting and Advance have the same result.
func TestAlarmWaitsAsLongAsItAdvances(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, c *cloudwatch.Client) {
		a := newAlerts(t, server, c)
		a.put(&cloudwatch.PutMetricAlarmInput{
			MetricName: aws.String("depth"), Namespace: aws.String("app"), ExtendedStatistic: aws.String("p99"),
			Period: aws.Int32(300), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(10),
			ComparisonOperator: "LessThanThreshold",
		})
		a.value(2)
		time.Sleep(time.Minute + time.Second)
		if got := a.alarm().StateValue; got != "ALARM" {
			t.Errorf("the window slides every minute, but the state is %s", got)
		}
	})
}

// plant creates what a seed file with a text describes.
func plant(t *testing.T, server *localaws.Server, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Plant(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}
