package localaws_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/localaws"
)

// metricClient returns a client of a server in process.
func metricClient(server *localaws.Server) *cloudwatch.Client {
	return cloudwatch.New(cloudwatch.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws"),
		HTTPClient:  &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), RetryMaxAttempts: 1,
	})
}

// bubble runs a test in virtual time with a server and its client.
func bubble(t *testing.T, f func(t *testing.T, server *localaws.Server, c *cloudwatch.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := localaws.New(&localaws.Options{Seed: testSeed})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		f(t, server, metricClient(server))
	})
}

// TestMetrics: what is put is found, by both actions that read, and listed.
func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, _ *localaws.Server, c *cloudwatch.Client) {
		ctx := t.Context()
		start := time.Now()
		// More than 10 KiB, which the SDK compresses.
		data := []types.MetricDatum{
			{
				MetricName: aws.String("size"), Unit: types.StandardUnitBytes, Values: []float64{1, 10},
				Counts: []float64{2, 4},
			},
			{
				MetricName: aws.String("time"), StatisticValues: &types.StatisticSet{
					SampleCount: aws.Float64(10), Sum: aws.Float64(55), Minimum: aws.Float64(1),
					Maximum: aws.Float64(10),
				},
			},
		}
		for i := range 100 {
			data = append(data, types.MetricDatum{
				MetricName: aws.String("latency"), Value: aws.Float64(float64(i + 1)), Timestamp: aws.Time(start),
				Dimensions: []types.Dimension{{
					Name: aws.String("Host"), Value: aws.String(strings.Repeat("x", 200)),
				}},
			})
		}
		if _, err := c.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("app"), MetricData: data,
		}); err != nil {
			t.Fatal(err)
		}
		list, err := c.ListMetrics(ctx, &cloudwatch.ListMetricsInput{
			Namespace: aws.String("app"), Dimensions: []types.DimensionFilter{{Name: aws.String("Host")}},
		})
		if err != nil || len(list.Metrics) != 1 || *list.Metrics[0].MetricName != "latency" {
			t.Errorf("list: %+v %v", list, err)
		}
		stats, err := c.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
			Namespace: aws.String("app"), MetricName: aws.String("size"), StartTime: aws.Time(start.Add(-time.Minute)),
			EndTime: aws.Time(start.Add(time.Minute)), Period: aws.Int32(60),
			Statistics: []types.Statistic{"SampleCount", "Sum", "Maximum"},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []types.Datapoint{{
			Timestamp: aws.Time(start.UTC().Truncate(time.Minute)), SampleCount: aws.Float64(6), Sum: aws.Float64(42),
			Maximum: aws.Float64(10), Unit: types.StandardUnitBytes,
		}}
		if diff := cmp.Diff(want, stats.Datapoints, cmpopts.IgnoreUnexported(types.Datapoint{})); diff != "" {
			t.Errorf("statistics (-want +got):\n%s", diff)
		}
		read, err := c.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
			StartTime: aws.Time(start.Add(-time.Minute)), EndTime: aws.Time(start.Add(time.Minute)),
			MetricDataQueries: []types.MetricDataQuery{
				{Id: aws.String("p"), MetricStat: &types.MetricStat{
					Metric: &types.Metric{
						Namespace: aws.String("app"), MetricName: aws.String("latency"), Dimensions: data[2].Dimensions,
					}, Period: aws.Int32(60), Stat: aws.String("p90"),
				}},
				{Id: aws.String("twice"), Expression: aws.String("p*2 + 1"), Label: aws.String("double")},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, r := range read.MetricDataResults {
			got[*r.Label] = r.Values[0]
		}
		if diff := cmp.Diff(map[string]float64{"latency": 90, "double": 181}, got); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	})
}

// TestMetricsExpire: points of a minute become points of five minutes and of an hour, and end.
func TestMetricsExpire(t *testing.T) {
	bubble(t, func(t *testing.T, server *localaws.Server, c *cloudwatch.Client) {
		ctx := t.Context()
		start := time.Now()
		if _, err := c.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("app"), MetricData: []types.MetricDatum{{
				MetricName: aws.String("m"), Value: aws.Float64(7), StorageResolution: aws.Int32(1),
			}},
		}); err != nil {
			t.Fatal(err)
		}
		read := func(period int32) int {
			out, err := c.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
				StartTime: aws.Time(start.Add(-2 * time.Hour)), EndTime: aws.Time(start.Add(time.Hour)),
				MetricDataQueries: []types.MetricDataQuery{{Id: aws.String("m"), MetricStat: &types.MetricStat{
					Metric: &types.Metric{Namespace: aws.String("app"), MetricName: aws.String("m")},
					Period: aws.Int32(period), Stat: aws.String("Sum"),
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return len(out.MetricDataResults[0].Values)
		}
		day := 24 * time.Hour
		for _, step := range []struct {
			after time.Duration
			want  map[int32]int
		}{
			{0, map[int32]int{1: 1, 60: 1, 300: 1, 3600: 1}},
			{3*time.Hour + time.Minute, map[int32]int{1: 0, 60: 1, 300: 1, 3600: 1}},
			{15*day + time.Hour, map[int32]int{60: 0, 300: 1, 3600: 1}},
			{63*day + 2*time.Hour, map[int32]int{60: 0, 300: 0, 3600: 1}},
			{455*day + 2*time.Hour, map[int32]int{60: 0, 300: 0, 3600: 0}},
		} {
			server.Advance(step.after - server.Now().Sub(start))
			for period, want := range step.want {
				if got := read(period); got != want {
					t.Errorf("after %v: %d points of %d s, want %d", step.after, got, period, want)
				}
			}
		}
		if n := len(server.CloudWatch().Metrics("", "", 0)); n != 0 {
			t.Errorf("%d metrics are left", n)
		}
	})
}
