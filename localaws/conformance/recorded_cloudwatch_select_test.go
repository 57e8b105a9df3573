package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// The cases of this file are AWS's: "Metrics Insights query components and syntax" of CloudWatch's user guide, and
// getmoto/moto, tests/test_cloudwatch/test_cloudwatch_expressions.py, test_get_metric_data_with_expressive_expression,
// which was verified on AWS.

// requests puts what three servers report: two in Rome and one in Oslo, and one value without dimensions.
func (m *metrics) requests() {
	m.Helper()
	add := func(x float64, dimensions ...string) types.MetricDatum {
		d := datum("Requests", x)
		for _, text := range dimensions {
			name, value, _ := strings.Cut(text, "=")
			d.Dimensions = append(d.Dimensions, types.Dimension{Name: &name, Value: &value})
		}
		return d
	}
	m.put(
		add(1, "City=Rome", "Host=a"), add(3, "City=Rome", "Host=b"), add(8, "City=Oslo", "Host=c"),
		add(100), add(20, "City=Rome"), datum("Others", 7),
	)
}

// selected returns the results of a query as texts: labels and values.
func (m *metrics) selected(q string) ([]string, error) {
	m.Helper()
	got, err := m.data(types.MetricDataQuery{
		Id: aws.String("q"), Period: aws.Int32(60),
		Expression: aws.String(strings.ReplaceAll(q, "NS", `"`+m.namespace+`"`)),
	})
	var all []string
	for _, r := range got {
		all = append(all, fmt.Sprint(*r.Label, r.Values))
	}
	return all, err
}

func TestCloudWatchRecordedSelection(t *testing.T) {
	runMetrics(t, "a sum by group of statistics that were put", func(m *metrics) {
		m.put(types.MetricDatum{
			MetricName: aws.String("ApiResponse"), Timestamp: &m.start,
			Dimensions: []types.Dimension{
				{Name: aws.String("Path"), Value: aws.String("/my/path")},
				{Name: aws.String("Audience"), Value: aws.String("my audience")},
			},
			StatisticValues: &types.StatisticSet{
				Maximum: aws.Float64(10), Minimum: aws.Float64(0), Sum: aws.Float64(10), SampleCount: aws.Float64(10),
			},
		})
		got, err := m.selected("SELECT SUM(ApiResponse) FROM NS WHERE Path = '/my/path' GROUP BY Audience")
		if diff := cmp.Diff([]string{"my audience[10]"}, got); diff != "" || err != nil {
			m.Error(err, diff)
		}
	})
	runMetrics(t, "each part of the language", func(m *metrics) {
		m.requests()
		for _, c := range []struct {
			query string
			want  []string
		}{
			{"SELECT SUM(Requests) FROM NS", []string{"q[132]"}},
			{"select avg(Requests) from SCHEMA(NS)", []string{"q[100]"}},
			{"SELECT AVG(Requests) FROM SCHEMA(NS, Host, City)", []string{"q[4]"}},
			{"SELECT COUNT(\"Requests\") FROM SCHEMA(NS, City, Host)", []string{"q[3]"}},
			{"SELECT MAX(Requests) FROM NS WHERE City = 'Rome'", []string{"q[20]"}},
			{"SELECT MAX(Requests) FROM NS WHERE City != 'Rome'", []string{"q[8]"}},
			{"SELECT MIN(Requests) FROM NS WHERE City = 'Rome' AND Host != 'a'", []string{"q[3]"}},
			{"SELECT SUM(Requests) FROM NS GROUP BY City", []string{"Oslo[8]", "Rome[24]"}},
			{"SELECT SUM(Requests) FROM NS GROUP BY City, Host", []string{"Oslo c[8]", "Rome a[1]", "Rome b[3]"}},
			{"SELECT SUM(Requests) FROM NS GROUP BY City ORDER BY SUM() DESC", []string{"Rome[24]", "Oslo[8]"}},
			{"SELECT SUM(Requests) FROM NS GROUP BY Host ORDER BY MAX() LIMIT 2", []string{"a[1]", "b[3]"}},
			{"SELECT SUM(Requests) FROM NS WHERE City = 'Bern' GROUP BY City", nil},
			{"SELECT SUM(requests) FROM NS GROUP BY City", nil},
		} {
			got, err := m.selected(c.query)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				m.Errorf("%s: %v\n%s", c.query, err, diff)
			}
		}
	})
	runMetrics(t, "metric math on a query, and a query beside a metric", func(m *metrics) {
		m.requests()
		all := types.MetricDataQuery{
			Id: aws.String("q"), Period: aws.Int32(60), ReturnData: aws.Bool(false),
			Expression: aws.String(`SELECT SUM(Requests) FROM "` + m.namespace + `" WHERE City = 'Oslo'`),
		}
		got := must(m.data(all, types.MetricDataQuery{Id: aws.String("e"), Expression: aws.String("q * 2 + m")},
			m.stat("m", "Others", "Sum")))(m.world)
		if len(got) != 2 || len(got[0].Values) != 1 || got[0].Values[0] != 23 {
			m.Errorf("%+v", got)
		}
	})
	runMetrics(t, "what is not of the language", func(m *metrics) {
		for query, text := range map[string]string{
			"SELECT P99(m) FROM NS":                          "one of the functions",
			"SELECT SUM(m)":                                  "FROM is missing at the end",
			"SELECT SUM(m) FROM my/ns":                       "unexpected text",
			`SELECT SUM(m) FROM NS WHERE a = "b"`:            "a value in single quotation marks",
			"SELECT SUM(m) FROM NS WHERE a > 'b'":            "unexpected text",
			"SELECT SUM(m) FROM NS WHERE a 'b'":              "= or !=",
			"SELECT SUM(m) FROM NS GROUP BY 'a'":             "the name of a dimension",
			"SELECT SUM(m) FROM NS ORDER BY a":               "one of the functions",
			"SELECT SUM(m) FROM NS LIMIT 501":                "LIMIT must be a number from 1 to 500",
			"SELECT SUM(m) FROM NS LIMIT 5 GROUP BY a":       "unexpected GROUP",
			"SELECT SUM(m) FROM SCHEMA(NS":                   ") is missing at the end",
			"SELECT SUM(m) FROM NS GROUP BY tag.env":         "tag.env is not supported",
			"SELECT SUM(m) FROM NS GROUP BY AWS.AccountId":   "AWS.AccountId is not supported",
			`SELECT SUM("") FROM NS`:                         "a name is empty",
			"SELECT SUM(m) FROM NS WHERE a = 'b' OR c = 'd'": "unexpected OR",
		} {
			_, err := m.selected(query)
			m.refused(err, "ValidationError", text)
		}
	})
	runMetrics(t, "an alarm on a query", func(m *metrics) {
		alarm := func(query string) error {
			_, err := m.c.PutMetricAlarm(m.ctx, &cloudwatch.PutMetricAlarmInput{
				AlarmName: aws.String(m.name("a")), EvaluationPeriods: aws.Int32(3), Threshold: aws.Float64(5),
				DatapointsToAlarm: aws.Int32(1), ComparisonOperator: "GreaterThanThreshold",
				Metrics: []types.MetricDataQuery{{
					Id: aws.String("q"), Period: aws.Int32(60),
					Expression: aws.String(strings.ReplaceAll(query, "NS", `"`+m.namespace+`"`)),
				}},
			})
			return err
		}
		m.refused(alarm("SELECT SUM(Requests) FROM NS GROUP BY City"), "ValidationError", "GROUP BY")
		must(0, alarm("SELECT SUM(Requests) FROM NS"))(m.world)
		m.requests()
		m.pass(2 * time.Minute)
		if got := m.described("a"); got.StateValue != "ALARM" {
			m.Errorf("%s: %s", got.StateValue, *got.StateReason)
		}
	})
}

// Whatever needs anomaly detection is refused by name.
func TestCloudWatchAnomalyDetection(t *testing.T) {
	runMetrics(t, "an alarm, a band and a detector", func(m *metrics) {
		in := &cloudwatch.PutMetricAlarmInput{
			AlarmName: aws.String(m.name("a")), EvaluationPeriods: aws.Int32(1), ThresholdMetricId: aws.String("band"),
			ComparisonOperator: "LessThanLowerOrGreaterThanUpperThreshold", Metrics: []types.MetricDataQuery{
				m.stat("m", "m", "Sum"),
				{Id: aws.String("band"), Expression: aws.String("ANOMALY_DETECTION_BAND(m, 2)")},
			},
		}
		_, err := m.c.PutMetricAlarm(m.ctx, in)
		m.refused(err, "ValidationError", "The parameter ThresholdMetricId needs anomaly detection")
		in.ThresholdMetricId = nil
		_, err = m.c.PutMetricAlarm(m.ctx, in)
		m.refused(err, "ValidationError",
			"The comparison operator LessThanLowerOrGreaterThanUpperThreshold needs anomaly detection")
		_, err = m.data(in.Metrics...)
		m.refused(err, "ValidationError", "function ANOMALY_DETECTION_BAND is not supported")
		_, err = m.c.PutAnomalyDetector(m.ctx, &cloudwatch.PutAnomalyDetectorInput{
			SingleMetricAnomalyDetector: &types.SingleMetricAnomalyDetector{
				Namespace: &m.namespace, MetricName: aws.String("m"), Stat: aws.String("Sum"),
			},
		})
		var e smithy.APIError
		if !errors.As(err, &e) || e.ErrorCode() != "NotImplemented" ||
			!strings.Contains(e.ErrorMessage(), "PutAnomalyDetector") {
			m.Error(err)
		}
	})
}
