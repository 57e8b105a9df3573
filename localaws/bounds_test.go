package localaws_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/godwitmq/godwit/localaws"
)

// Metrics of all accounts share one bound. What is refused is not stored, and a reset makes room.
func TestMetricsAreBounded(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	clients := []*caller{callFrom(t, server, ours, virginia), callFrom(t, server, theirs, virginia)}
	long := strings.Repeat("v", 1000)
	var dimensions []types.Dimension
	for i := range 30 {
		dimensions = append(dimensions, types.Dimension{Name: aws.String(fmt.Sprint("d", i)), Value: &long})
	}
	put := func(i int) error {
		var data []types.MetricDatum
		for j := range 100 {
			data = append(data, types.MetricDatum{
				MetricName: aws.String(fmt.Sprintf("m-%d-%d", i, j)), Value: aws.Float64(1), Dimensions: dimensions,
			})
		}
		c := clients[i%2]
		_, err := c.cloudwatch.PutMetricData(c.ctx,
			&cloudwatch.PutMetricDataInput{Namespace: aws.String("n"), MetricData: data})
		return err
	}
	most := 256 << 20 / (100 * 2 * 30 * 1000)
	n := 0
	for ; n < 2*most; n++ {
		if err := put(n); err != nil {
			refused(t, err, "LimitExceeded", "more than 256 MiB")
			break
		}
	}
	if n < most*8/10 || n > most+1 { // the last one may pass the bound
		t.Errorf("%d requests were accepted, and %d of them take 256 MiB", n, most)
	}
	for _, c := range clients {
		listed := ok(c.cloudwatch.ListMetrics(c.ctx, &cloudwatch.ListMetricsInput{
			Namespace: aws.String("n"), MetricName: aws.String(fmt.Sprintf("m-%d-0", n)),
		}))(t)
		if len(listed.Metrics) > 0 {
			t.Error("a refused request stored a metric")
		}
	}
	server.Reset()
	if err := put(0); err != nil {
		t.Error(err)
	}
}

// What alarms take in memory is bounded, whatever they contain.
func TestTextsOfAlarmsAreBounded(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	c := callFrom(t, server, ours, virginia)
	long := strings.Repeat("v", 1000)
	var dimensions []types.Dimension
	for i := range 30 {
		dimensions = append(dimensions, types.Dimension{Name: aws.String(fmt.Sprint("d", i)), Value: &long})
	}
	var queries []types.MetricDataQuery
	for i := range 50 {
		queries = append(queries, types.MetricDataQuery{
			Id: aws.String(fmt.Sprint("q", i)), ReturnData: aws.Bool(i == 0),
			MetricStat: &types.MetricStat{
				Metric: &types.Metric{
					Namespace: aws.String("n"), MetricName: aws.String("m"), Dimensions: dimensions,
				},
				Period: aws.Int32(60), Stat: aws.String("Sum"),
			},
		})
	}
	var err error
	n := 0
	for ; n < 50 && err == nil; n++ {
		_, err = c.cloudwatch.PutMetricAlarm(c.ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: aws.String(fmt.Sprint("a", n)), Metrics: queries, Threshold: aws.Float64(1),
			EvaluationPeriods: aws.Int32(1), ComparisonOperator: types.ComparisonOperatorGreaterThanThreshold,
		})
	}
	refused(t, err, "LimitExceeded", "alarms take more than 64 MiB")
	if n < 5 || n > 20 {
		t.Errorf("%d alarms of 1.5 MB", n)
	}
}

// What alarms read in a minute is bounded, and so is how far the clock moves while they are evaluated.
func TestAlarmsAreBounded(t *testing.T) {
	server := newPlacesServer(t, localaws.Options{})
	c := callFrom(t, server, ours, virginia)
	put := func(name string, periods int32) error {
		_, err := c.cloudwatch.PutMetricAlarm(c.ctx, &cloudwatch.PutMetricAlarmInput{
			AlarmName: &name, Namespace: aws.String("n"), MetricName: aws.String("m"), Period: aws.Int32(60),
			Statistic: types.StatisticSum, Threshold: aws.Float64(1), EvaluationPeriods: &periods,
			ComparisonOperator: types.ComparisonOperatorGreaterThanThreshold,
		})
		return err
	}
	if status, _ := fetch(t, server, "POST", "/_localaws/advance?d=8760h"); status != 200 {
		t.Errorf("without alarms: %d", status)
	}
	n := 0
	var err error
	for ; n < 1000; n++ {
		if err = put(fmt.Sprint("a", n), 1440); err != nil {
			break
		}
	}
	refused(t, err, "LimitExceeded", "more than 250000 datapoints in each evaluation; this one reads ")
	if n < 100 || n > 250_000/1440 {
		t.Errorf("%d alarms of 1,440 datapoints", n)
	}
	status, body := fetch(t, server, "POST", "/_localaws/advance?d=24h")
	if status != 400 || !strings.Contains(body, "by at most ") {
		t.Errorf("%d %s", status, body)
	}
	if err := put("a0", 1); err != nil { // one that takes less in the place of another
		t.Error(err)
	}
	if err := put("one more", 1); err != nil {
		t.Error(err)
	}
	ok(c.cloudwatch.DeleteAlarms(c.ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{"a1"}}))(t)
	if err := put("another", 1440); err != nil {
		t.Error(err)
	}
	server.Reset()
	began := server.Now()
	if status, _ := fetch(t, server, "POST", "/_localaws/advance?d=24h"); status != 200 ||
		server.Now().Sub(began) < 24*time.Hour {
		t.Errorf("after the reset: %d", status)
	}
}
