package conformance

import (
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
)

func TestCloudWatchPutMetricData(t *testing.T) {
	set := &types.StatisticSet{
		SampleCount: aws.Float64(10), Sum: aws.Float64(55), Minimum: aws.Float64(1), Maximum: aws.Float64(10),
	}
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name, code, text string
		change           func(d *types.MetricDatum)
	}{
		{
			"Value and Values", "InvalidParameterCombination", "The parameters MetricData.member.1.Value and " +
				"MetricData.member.1.Values are mutually exclusive and you have specified both.",
			func(d *types.MetricDatum) { d.Values = []float64{1} },
		},
		{
			"Value and StatisticValues", "InvalidParameterCombination", "The parameters MetricData.member.1.Value " +
				"and MetricData.member.1.StatisticValues are mutually exclusive and you have specified both.",
			func(d *types.MetricDatum) { d.StatisticValues = set },
		},
		{
			"Counts of another length", "InvalidParameterValue", "The parameters MetricData.member.1.Values and " +
				"MetricData.member.1.Counts must be of the same size.",
			func(d *types.MetricDatum) { d.Value, d.Values, d.Counts = nil, []float64{1, 10}, []float64{2, 4, 5} },
		},
		{"no value", "MissingParameter", "", func(d *types.MetricDatum) { d.Value = nil }},
		{"not a number", "InvalidParameterValue", "NaN", func(d *types.MetricDatum) {
			d.Value = aws.Float64(math.NaN())
		}},
		{
			"a sample of three weeks ago", "InvalidParameterValue", "two weeks",
			func(d *types.MetricDatum) { d.Timestamp = aws.Time(time.Now().Add(-21 * 24 * time.Hour)) },
		},
		{
			"a sample of tomorrow", "InvalidParameterValue", "two hours",
			func(d *types.MetricDatum) { d.Timestamp = aws.Time(time.Now().Add(24 * time.Hour)) },
		},
		{"an unknown unit", "InvalidParameterValue", "Unit", func(d *types.MetricDatum) { d.Unit = "Miles" }},
		{
			"a resolution of 5 s", "InvalidParameterValue", "StorageResolution",
			func(d *types.MetricDatum) { d.StorageResolution = aws.Int32(5) },
		},
		{"a long name", "InvalidParameterValue", "MetricName", func(d *types.MetricDatum) { d.MetricName = &long }},
		{"31 dimensions", "InvalidParameterValue", "Dimensions", func(d *types.MetricDatum) {
			for i := range 31 {
				d.Dimensions = append(d.Dimensions, types.Dimension{
					Name: aws.String(strings.Repeat("d", i+1)), Value: aws.String("v"),
				})
			}
		}},
	} {
		runMetrics(t, c.name+" is refused, and nothing is stored", func(m *metrics) {
			d := datum("m", 1.5)
			c.change(&d)
			_, err := m.c.PutMetricData(m.ctx, &cloudwatch.PutMetricDataInput{
				Namespace: &m.namespace, MetricData: []types.MetricDatum{d, datum("other", 1)},
			})
			m.refused(err, c.code, c.text)
			out := must(m.c.ListMetrics(m.ctx, &cloudwatch.ListMetricsInput{Namespace: &m.namespace}))(m.world)
			if len(out.Metrics) != 0 {
				m.Errorf("%d metrics are stored", len(out.Metrics))
			}
		})
	}
	runMetrics(t, "a namespace of AWS is refused", func(m *metrics) {
		m.namespace = "AWS/SQS"
		_, err := m.c.PutMetricData(m.ctx, &cloudwatch.PutMetricDataInput{
			Namespace: &m.namespace, MetricData: []types.MetricDatum{datum("m", 1)},
		})
		m.refused(err, "InvalidParameterValue", "Namespace")
	})
	runMetrics(t, "metrics of an entity are stored", func(m *metrics) {
		must(m.c.PutMetricData(m.ctx, &cloudwatch.PutMetricDataInput{
			Namespace: &m.namespace, StrictEntityValidation: aws.Bool(true),
			EntityMetricData: []types.EntityMetricData{{
				Entity: &types.Entity{
					KeyAttributes: map[string]string{"Type": "Service", "Name": "app"},
					Attributes:    map[string]string{"Host": "h"},
				},
				MetricData: []types.MetricDatum{{
					MetricName: aws.String("m"), Timestamp: &m.start, StatisticValues: set, Unit: "Count",
					StorageResolution: aws.Int32(1),
				}, {
					MetricName: aws.String("n"), Values: []float64{1, 2}, Counts: []float64{3, 1},
					Dimensions: []types.Dimension{{Name: aws.String("d"), Value: aws.String("v")}},
				}, datum("o", 1)},
			}},
		}))(m.world)
		got := must(m.data(m.stat("m", "m", "Average")))(m.world)
		if diff := cmp.Diff([]float64{5.5}, got[0].Values); diff != "" {
			m.Error(diff)
		}
	})
	runMetrics(t, "the query protocol is spoken, too", func(m *metrics) {
		form := url.Values{
			"Action": {"PutMetricData"}, "Version": {"2010-08-01"}, "Namespace": {m.namespace},
			"MetricData.member.1.MetricName": {"m"}, "MetricData.member.1.Value": {"1.5"},
		}
		header := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		code, _, body := m.raw("/", header, form.Encode())
		if code != 200 || !strings.Contains(body, "<PutMetricDataResponse xmlns="+
			`"http://monitoring.amazonaws.com/doc/2010-08-01/">`) {
			m.Errorf("put: %d %s", code, body)
		}
		form.Set("Action", "ListMetrics")
		form.Del("MetricData.member.1.MetricName")
		form.Del("MetricData.member.1.Value")
		if code, _, body := m.raw("/", header, form.Encode()); code != 200 ||
			!strings.Contains(body, "<Metrics><member><Namespace>"+m.namespace) {
			m.Errorf("list: %d %s", code, body)
		}
	})
}

func TestCloudWatchGetMetricData(t *testing.T) {
	runMetrics(t, "labels have what distinguishes the queries", func(m *metrics) {
		m.put(datum("a", 0), datum("a", 2), datum("a", 7), datum("a", 100))
		got := must(m.data(m.stat("x", "a", "Sum"), m.stat("y", "a", "Minimum")))(m.world)
		labels := map[string]float64{}
		for _, r := range got {
			labels[*r.Label] = r.Values[0]
		}
		if diff := cmp.Diff(map[string]float64{"a Sum": 109, "a Minimum": 0}, labels); diff != "" {
			m.Error(diff)
		}
	})
	runMetrics(t, "of several units, the first is returned, and a message says so", func(m *metrics) {
		for unit, x := range map[types.StandardUnit]float64{"Seconds": 60, "Milliseconds": 60000} {
			d := datum("m", x)
			d.Unit = unit
			m.put(d)
		}
		q := m.stat("m", "m", "Sum")
		got := must(m.data(q))(m.world)[0]
		if got.Values[0] != 60000 || len(got.Messages) != 1 ||
			*got.Messages[0].Value != "Multiple units returned: '[Milliseconds, Seconds]'" {
			m.Errorf("%v %+v", got.Values, got.Messages)
		}
		q.MetricStat.Unit = "Seconds"
		if got := must(m.data(q))(m.world)[0]; got.Values[0] != 60 || len(got.Messages) != 0 {
			m.Errorf("with a unit: %v", got.Values)
		}
	})
	runMetrics(t, "metric math", func(m *metrics) {
		m.put(datum("a", 6), datum("b", 3))
		hidden := m.stat("a", "a", "Sum")
		hidden.ReturnData = aws.Bool(false)
		got := must(m.data(hidden, m.stat("b", "b", "Sum"),
			types.MetricDataQuery{Id: aws.String("ratio"), Expression: aws.String("100*a/b"), Label: aws.String("%")},
			types.MetricDataQuery{
				Id: aws.String("all"), Expression: aws.String("SUM(METRICS())"), Period: aws.Int32(60),
			},
			types.MetricDataQuery{Id: aws.String("more"), Expression: aws.String("IF(a > b, a ^ 2, -b) - ratio")},
		))(m.world)
		values := map[string]float64{}
		for _, r := range got {
			values[*r.Id] = r.Values[0]
		}
		if diff := cmp.Diff(map[string]float64{"b": 3, "ratio": 200, "all": 9, "more": -164}, values); diff != "" {
			m.Error(diff)
		}
	})
	for expression, text := range map[string]string{
		"e + 1": "depends on itself", "missing * 2": "there is no query with the id missing", "1 +": "unexpected end",
		"SEARCH('x', 'Sum', 60)": "SEARCH is not supported", "5": "not a time series",
	} {
		runMetrics(t, "an expression that is "+text, func(m *metrics) {
			_, err := m.data(types.MetricDataQuery{Id: aws.String("e"), Expression: &expression})
			m.refused(err, "ValidationError", text)
		})
	}
	runMetrics(t, "pages, in both orders", func(m *metrics) {
		for i := range 5 {
			d := datum("m", float64(i))
			d.Timestamp = aws.Time(m.start.Add(time.Duration(i) * time.Minute))
			m.put(d)
		}
		for order, want := range map[types.ScanBy][]float64{
			"": {4, 3, 2, 1, 0}, "TimestampAscending": {0, 1, 2, 3, 4},
		} {
			var got []float64
			in := &cloudwatch.GetMetricDataInput{
				StartTime: &m.start, EndTime: aws.Time(m.start.Add(time.Hour)), MaxDatapoints: aws.Int32(2),
				MetricDataQueries: []types.MetricDataQuery{m.stat("m", "m", "Sum")}, ScanBy: order,
			}
			for {
				out := must(m.c.GetMetricData(m.ctx, in))(m.world)
				for _, r := range out.MetricDataResults {
					got = append(got, r.Values...)
				}
				if in.NextToken = out.NextToken; in.NextToken == nil {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				m.Errorf("%q: %s", order, diff)
			}
		}
	})
	runMetrics(t, "a token that is none is refused", func(m *metrics) {
		_, err := m.c.GetMetricData(m.ctx, &cloudwatch.GetMetricDataInput{
			StartTime: &m.start, EndTime: aws.Time(m.start.Add(time.Hour)), NextToken: aws.String("x"),
			MetricDataQueries: []types.MetricDataQuery{m.stat("m", "m", "Sum")},
		})
		m.refused(err, "InvalidNextToken", "")
	})
	runMetrics(t, "the dimensions are part of the metric", func(m *metrics) {
		d := datum("m", 1)
		d.Dimensions = []types.Dimension{
			{Name: aws.String("a"), Value: aws.String("1")}, {Name: aws.String("b"), Value: aws.String("2")},
		}
		m.put(d)
		q := m.stat("m", "m", "Sum")
		if got := must(m.data(q))(m.world)[0]; len(got.Values) != 0 || got.StatusCode != "Complete" {
			m.Errorf("without dimensions: %v", got.Values)
		}
		q.MetricStat.Metric.Dimensions = []types.Dimension{d.Dimensions[1], d.Dimensions[0]}
		if got := must(m.data(q))(m.world)[0]; len(got.Values) != 1 {
			m.Errorf("in another order: %v", got.Values)
		}
	})
}

func TestCloudWatchGetMetricStatistics(t *testing.T) {
	read := func(m *metrics, change func(in *cloudwatch.GetMetricStatisticsInput)) ([]types.Datapoint, error) {
		in := &cloudwatch.GetMetricStatisticsInput{
			Namespace: &m.namespace, MetricName: aws.String("m"), StartTime: aws.Time(m.start.Add(-time.Minute)),
			EndTime: aws.Time(m.start.Add(2 * time.Minute)), Period: aws.Int32(60),
			Statistics: []types.Statistic{"Average", "Sum", "Minimum", "Maximum", "SampleCount"},
		}
		change(in)
		out, err := m.c.GetMetricStatistics(m.ctx, in)
		if err != nil {
			return nil, err
		}
		return out.Datapoints, nil
	}
	runMetrics(t, "the five statistics, and percentiles", func(m *metrics) {
		for i := range 10 {
			d := datum("m", float64(i))
			d.Dimensions = []types.Dimension{{Name: aws.String("d"), Value: aws.String("v")}}
			m.put(d)
		}
		dimensions := []types.Dimension{{Name: aws.String("d"), Value: aws.String("v")}}
		got := must(read(m, func(in *cloudwatch.GetMetricStatisticsInput) {
			in.Dimensions, in.Unit = dimensions, "None"
		}))(m.world)
		if len(got) != 1 || *got[0].Average != 4.5 || *got[0].Sum != 45 || *got[0].Minimum != 0 ||
			*got[0].Maximum != 9 || *got[0].SampleCount != 10 || got[0].Unit != "None" {
			m.Errorf("%+v", got)
		}
		got = must(read(m, func(in *cloudwatch.GetMetricStatisticsInput) {
			in.Dimensions, in.Statistics = dimensions, nil
			in.ExtendedStatistics = []string{"p50", "p90", "tm50", "PR(:3)", "IQM", "wm80", "ts50", "TC(10%:90%)"}
		}))(m.world)
		want := map[string]float64{
			"p50": 4, "p90": 8, "tm50": 2, "PR(:3)": 40, "IQM": 4.5, "wm80": 4.2, "ts50": 10, "TC(10%:90%)": 8,
		}
		if len(got) != 1 || !cmp.Equal(want, got[0].ExtendedStatistics) {
			m.Error(cmp.Diff(want, got[0].ExtendedStatistics))
		}
	})
	for _, c := range []struct {
		name, code, text string
		change           func(in *cloudwatch.GetMetricStatisticsInput)
	}{
		{
			"1,441 points", "InvalidParameterCombination",
			"You have requested up to 1,441 datapoints, which exceeds the limit of 1,440.",
			func(in *cloudwatch.GetMetricStatisticsInput) {
				in.EndTime = aws.Time(in.StartTime.Add(1441 * time.Minute))
			},
		},
		{
			"an end before the start", "InvalidParameterValue",
			"The parameter StartTime must be less than the parameter EndTime.",
			func(in *cloudwatch.GetMetricStatisticsInput) { in.EndTime = in.StartTime },
		},
		{
			"a period of 61 s", "InvalidParameterValue", "Period",
			func(in *cloudwatch.GetMetricStatisticsInput) { in.Period = aws.Int32(61) },
		},
		{
			"no statistic", "MissingParameter", "Statistics",
			func(in *cloudwatch.GetMetricStatisticsInput) { in.Statistics = nil },
		},
		{
			"both kinds of statistics", "InvalidParameterCombination", "mutually exclusive",
			func(in *cloudwatch.GetMetricStatisticsInput) { in.ExtendedStatistics = []string{"p50"} },
		},
		{"a percentile of 101", "InvalidParameterValue", "p101", func(in *cloudwatch.GetMetricStatisticsInput) {
			in.Statistics, in.ExtendedStatistics = nil, []string{"p101"}
		}},
	} {
		runMetrics(t, c.name+" is refused", func(m *metrics) {
			_, err := read(m, c.change)
			m.refused(err, c.code, c.text)
		})
	}
}

func TestCloudWatchListMetrics(t *testing.T) {
	runMetrics(t, "501 metrics are two pages", func(m *metrics) {
		var data []types.MetricDatum
		for i := range 501 {
			data = append(data, datum("m"+strings.Repeat("x", i%200)+strings.Repeat("y", i/200), 1))
		}
		m.put(data...)
		in := &cloudwatch.ListMetricsInput{
			Namespace: &m.namespace, RecentlyActive: "PT3H", IncludeLinkedAccounts: aws.Bool(false),
		}
		first := must(m.c.ListMetrics(m.ctx, in))(m.world)
		in.NextToken = first.NextToken
		second := must(m.c.ListMetrics(m.ctx, in))(m.world)
		if len(first.Metrics) != 500 || len(second.Metrics) != 1 || second.NextToken != nil {
			m.Errorf("pages of %d and %d", len(first.Metrics), len(second.Metrics))
		}
	})
	runMetrics(t, "by name, dimensions and activity", func(m *metrics) {
		d := datum("m", 1)
		d.Dimensions = []types.Dimension{{Name: aws.String("queue"), Value: aws.String("a")}}
		m.put(d, datum("m", 1), datum("n", 1))
		count := func(in *cloudwatch.ListMetricsInput) int {
			in.Namespace = &m.namespace
			return len(must(m.c.ListMetrics(m.ctx, in))(m.world).Metrics)
		}
		for want, in := range map[int]*cloudwatch.ListMetricsInput{
			3: {}, 2: {MetricName: aws.String("m")},
			1: {Dimensions: []types.DimensionFilter{{Name: aws.String("queue")}}},
			0: {Dimensions: []types.DimensionFilter{{Name: aws.String("queue"), Value: aws.String("b")}}},
		} {
			if got := count(in); got != want {
				m.Errorf("%d metrics, want %d", got, want)
			}
		}
		if got := count(&cloudwatch.ListMetricsInput{OwningAccount: aws.String("999999999999")}); got != 0 {
			m.Errorf("%d metrics of another account", got)
		}
		m.pass(4 * time.Hour)
		if got := count(&cloudwatch.ListMetricsInput{RecentlyActive: "PT3H"}); got != 0 {
			m.Errorf("%d metrics are recently active after four hours", got)
		}
		if got := count(&cloudwatch.ListMetricsInput{}); got != 3 {
			m.Errorf("%d metrics after four hours", got)
		}
		m.pass(15 * 24 * time.Hour)
		if got := count(&cloudwatch.ListMetricsInput{}); got != 0 {
			m.Errorf("%d metrics after two weeks", got)
		}
	})
}

func TestCloudWatchRegions(t *testing.T) {
	runMetrics(t, "metrics and alarms of a region are not visible in another", func(m *metrics) {
		there := cloudwatch.New(cloudwatch.Options{
			Region: "eu-north-1", BaseEndpoint: &m.endpoint, HTTPClient: m.http, Credentials: m.keys,
			RetryMaxAttempts: 1,
		})
		m.put(datum("here", 1))
		if err := m.alarm("a", nil); err != nil {
			m.Fatal(err)
		}
		must(there.PutMetricData(m.ctx, &cloudwatch.PutMetricDataInput{
			Namespace: &m.namespace, MetricData: []types.MetricDatum{datum("there", 1)},
		}))(m.world)
		for want, c := range map[string]*cloudwatch.Client{"here": m.c, "there": there} {
			list := must(c.ListMetrics(m.ctx, &cloudwatch.ListMetricsInput{Namespace: &m.namespace}))(m.world).Metrics
			if len(list) != 1 || *list[0].MetricName != want {
				m.Errorf("metrics %s: %v", want, list)
			}
		}
		alarms := &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{m.name("a")}}
		if list := must(there.DescribeAlarms(m.ctx, alarms))(m.world).MetricAlarms; len(list) != 0 {
			m.Errorf("alarms there: %v", list)
		}
		must(there.PutMetricAlarm(m.ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: aws.String(m.name("b")), Namespace: &m.namespace, MetricName: aws.String("there"),
			Statistic: "Sum", Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(0),
			ComparisonOperator: "GreaterThanThreshold",
		}))(m.world)
		defer func() {
			must(there.DeleteAlarms(m.ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{m.name("b")}}))(m.world)
		}()
		alarms.AlarmNames[0] = m.name("b")
		own := must(there.DescribeAlarms(m.ctx, alarms))(m.world).MetricAlarms
		if len(own) != 1 || !strings.HasPrefix(*own[0].AlarmArn, "arn:aws:cloudwatch:eu-north-1:") {
			m.Fatalf("alarms there: %v", own)
		}
		m.pass(time.Minute + time.Second)
		if own = must(there.DescribeAlarms(m.ctx, alarms))(m.world).MetricAlarms; own[0].StateValue != "ALARM" {
			m.Errorf("after a minute it is %s", own[0].StateValue)
		}
	})
}
