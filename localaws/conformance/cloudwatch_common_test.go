package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// metrics is the environment of a case about CloudWatch, in addition to the world.
type metrics struct {
	*world
	c         *cloudwatch.Client
	namespace string
	start     time.Time // the begin of a whole minute
}

// runMetrics runs one case about CloudWatch as a subtest.
func runMetrics(t *testing.T, name string, f func(m *metrics)) {
	t.Helper()
	run(t, name, func(w *world) {
		f(&metrics{
			world: w, namespace: w.name("ns"), start: time.Now().UTC().Truncate(time.Minute),
			c: cloudwatch.New(cloudwatch.Options{
				Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys,
				RetryMaxAttempts: 1,
			}),
		})
	})
}

// put puts data.
func (m *metrics) put(data ...types.MetricDatum) {
	m.Helper()
	must(m.c.PutMetricData(m.ctx, &cloudwatch.PutMetricDataInput{Namespace: &m.namespace, MetricData: data}))(m.world)
}

// datum returns a value of a metric.
func datum(name string, x float64) types.MetricDatum {
	return types.MetricDatum{MetricName: &name, Value: &x}
}

// stat returns a query for a statistic of a metric, by minutes.
func (m *metrics) stat(id, name, statistic string) types.MetricDataQuery {
	return types.MetricDataQuery{Id: &id, MetricStat: &types.MetricStat{
		Metric: &types.Metric{Namespace: &m.namespace, MetricName: &name}, Period: aws.Int32(60), Stat: &statistic,
	}}
}

// data reads queries from an hour ago to an hour from now.
func (m *metrics) data(queries ...types.MetricDataQuery) ([]types.MetricDataResult, error) {
	out, err := m.c.GetMetricData(m.ctx, &cloudwatch.GetMetricDataInput{
		MetricDataQueries: queries, StartTime: aws.Time(m.start.Add(-time.Hour)),
		EndTime: aws.Time(m.start.Add(time.Hour)), ScanBy: types.ScanByTimestampAscending,
	})
	if err != nil {
		return nil, err
	}
	return out.MetricDataResults, nil
}

// alarm creates an alarm on a metric.
func (m *metrics) alarm(name string, change func(in *cloudwatch.PutMetricAlarmInput)) error {
	in := &cloudwatch.PutMetricAlarmInput{
		AlarmName: aws.String(m.name(name)), Namespace: &m.namespace, MetricName: aws.String("m"), Statistic: "Sum",
		Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(30),
		ComparisonOperator: "GreaterThanThreshold",
	}
	if change != nil {
		change(in)
	}
	_, err := m.c.PutMetricAlarm(m.ctx, in)
	if err == nil {
		m.Cleanup(func() {
			if m.local == nil {
				_, _ = m.c.DeleteAlarms(context.WithoutCancel(m.ctx),
					&cloudwatch.DeleteAlarmsInput{AlarmNames: []string{*in.AlarmName}})
			}
		})
	}
	return err
}

// described returns an alarm.
func (m *metrics) described(name string) types.MetricAlarm {
	m.Helper()
	out := must(m.c.DescribeAlarms(m.ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{m.name(name)}}))(m.world)
	if len(out.MetricAlarms) != 1 {
		m.Fatalf("%d alarms of the name %s", len(out.MetricAlarms), name)
	}
	return out.MetricAlarms[0]
}
