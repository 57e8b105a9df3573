package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// AWS counts the points of a range before it rounds the start (AWS's page of GetMetricStatistics: at most 1,440 points;
// 24 hours of minutes are 1,440 whatever the second at which they start).
func TestCloudWatchRecordedCount(t *testing.T) {
	read := func(m *metrics, length time.Duration) error {
		start := m.start.Add(-25*time.Hour + 17*time.Second)
		_, err := m.c.GetMetricStatistics(m.ctx, &cloudwatch.GetMetricStatisticsInput{
			Namespace: &m.namespace, MetricName: aws.String("m"), Period: aws.Int32(60),
			Statistics: []types.Statistic{"Sum"}, StartTime: &start, EndTime: aws.Time(start.Add(length)),
		})
		return err
	}
	runMetrics(t, "24 hours of minutes from within a minute", func(m *metrics) {
		if err := read(m, 24*time.Hour); err != nil {
			m.Error(err)
		}
	})
	runMetrics(t, "a second more", func(m *metrics) {
		m.refused(read(m, 24*time.Hour+time.Second), "InvalidParameterCombination",
			"You have requested up to 1,441 datapoints, which exceeds the limit of 1,440.")
	})
}

// An error has the status of the query protocol only for clients that ask for it (smithy.io, "AWS query
// compatible": x-amzn-query-mode; the status of the error in the model is 400).
func TestCloudWatchRecordedStatus(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		status     int
	}{{"without the query mode", "", 400}, {"in the query mode", "true", 404}} {
		runMetrics(t, c.name, func(m *metrics) {
			h := map[string]string{
				"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": graniteTarget + "SetAlarmState",
			}
			if c.mode != "" {
				h["X-Amzn-Query-Mode"] = c.mode
			}
			status, header, body := m.raw("/", h,
				`{"AlarmName":"`+m.name("none")+`","StateValue":"OK","StateReason":"test"}`)
			if status != c.status || !strings.Contains(body, "ResourceNotFound") ||
				header.Get("X-Amzn-Query-Error") != "ResourceNotFound;Sender" {
				m.Errorf("%d %v %s", status, header, body)
			}
		})
	}
}

// Empty ranges: users quote AWS (elastic/beats, issue 32687, of 2022-08-15, and
// prometheus-community/yet-another-cloudwatch-exporter, issue 729, of 2022-11-21). Ranges that end before they start:
// as moto has it (getmoto/moto, pull request 6380, of 2023-06-08); no recording is known.
func TestCloudWatchRecordedRange(t *testing.T) {
	for _, c := range []struct {
		name, text string
		length     time.Duration
	}{
		{"GetMetricData of an empty range", "The parameter StartTime must not equal parameter EndTime.", 0},
		{"GetMetricData of a reversed range", "The parameter EndTime must be greater than StartTime.", -time.Second},
	} {
		runMetrics(t, c.name, func(m *metrics) {
			_, err := m.c.GetMetricData(m.ctx, &cloudwatch.GetMetricDataInput{
				StartTime: &m.start, EndTime: aws.Time(m.start.Add(c.length)),
				MetricDataQueries: []types.MetricDataQuery{{
					Id: aws.String("a"), Expression: aws.String("TIME_SERIES(1)"),
				}},
			})
			m.refused(err, "ValidationError", c.text)
		})
	}
}

// An unknown statistic: a user quotes AWS (prometheus-community/yet-another-cloudwatch-exporter, issue 385, of
// 2021-05-20), which lists what is wrong with every query; localaws tells the first. A query of nothing: as moto has it
// (test_cloudwatch_expressions.py); no recording is known.
func TestCloudWatchRecordedQuery(t *testing.T) {
	for _, c := range []struct {
		name, text string
		stat       *types.MetricStat
	}{
		{"neither a metric nor an expression", "The parameter MetricDataQueries.member.1.MetricStat is required.", nil},
		{
			"no statistic of CloudWatch",
			"The value None for parameter MetricDataQueries.member.1.MetricStat.Stat is not a valid statistic.",
			&types.MetricStat{
				Metric: &types.Metric{Namespace: aws.String("n"), MetricName: aws.String("m")},
				Period: aws.Int32(60), Stat: aws.String("None"),
			},
		},
	} {
		runMetrics(t, c.name, func(m *metrics) {
			_, err := m.c.GetMetricData(m.ctx, &cloudwatch.GetMetricDataInput{
				StartTime: &m.start, EndTime: aws.Time(m.start.Add(time.Minute)),
				MetricDataQueries: []types.MetricDataQuery{{Id: aws.String("a"), MetricStat: c.stat}},
			})
			m.refused(err, "ValidationError", c.text)
		})
	}
}
