package godwittest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

func TestMetricsOfChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		h.Consumer("wishes.audit", nil)
		wishes, orders := h.Producer("wishes.*", nil), h.Producer("orders", nil)
		h.Send(orders, godwittest.Bodies("a kite", "a ball")...)
		if err := wishes.Send(t.Context(), godwit.Message{Body: []byte("a kite")}); err != nil {
			t.Fatal(err)
		}
		h.Advance(2 * time.Minute)
		m := h.Metrics()
		sum := func(points []godwittest.Point) (total float64) {
			for _, p := range points {
				total += p.Sum
			}
			return total
		}
		for name, c := range map[string]struct{ got, want float64 }{
			"sent":      {sum(m.OfChannel("orders", "NumberOfMessagesSent")), 2},
			"published": {sum(m.OfChannel("wishes.*", "NumberOfMessagesPublished")), 1},
			"none":      {sum(m.OfChannel("others", "NumberOfMessagesSent")), 0},
			"no topic":  {sum(m.OfChannel("others.*", "NumberOfMessagesPublished")), 0},
		} {
			if c.got != c.want {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
			}
		}
		visible := m.OfChannel("orders", "ApproximateNumberOfMessagesVisible")
		if len(visible) == 0 || visible[0].Max != 2 || visible[0].Samples == 0 {
			t.Errorf("visible: %+v", visible)
		}
	})
}

func TestMetricsOfTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		m := h.Metrics()
		const put = "?Version=2010-08-01&Action=PutMetricData&MetricData.member.1.MetricName=load" +
			"&MetricData.member.1.Value=5&MetricData.member.1.Dimensions.member.1.Name=host" +
			"&MetricData.member.1.Dimensions.member.1.Value=a&Namespace="
		const read = "?Version=2010-08-01&Action=GetMetricData&StartTime=2000-01-01T00:00:00Z&EndTime=2000-01-01T01:00:00Z" +
			"&MetricDataQueries.member.1.Id=a&MetricDataQueries.member.1.MetricStat.Metric.MetricName=load" +
			"&MetricDataQueries.member.1.MetricStat.Period=60&MetricDataQueries.member.1.MetricStat.Stat=Sum" +
			"&MetricDataQueries.member.1.MetricStat.Metric.Namespace="
		const alarm = "?Version=2010-08-01&Action=PutMetricAlarm&AlarmName=busy&Namespace=app&MetricName=load" +
			"&Dimensions.member.1.Name=host&Dimensions.member.1.Value=a&Statistic=Sum&Period=60&EvaluationPeriods=1" +
			"&Threshold=4&ComparisonOperator=GreaterThanThreshold"
		m.Throttle(godwittest.Reports, "app", 1)
		m.Fail(godwittest.Reports, "app", 1)
		m.Fail(godwittest.Readings, "app", 1)
		denied := m.Deny(godwittest.Readings, "app")
		var got []int
		call := func(query string) {
			status, _ := transfer(t, h, "POST", query, "")
			got = append(got, status)
		}
		call(put + "other")
		call(put + "app") // throttled
		call(put + "app") // fails
		call(put + "app")
		call(read + "other")
		call(read + "app") // fails
		call(read + "app") // denied
		denied.Lift()
		call(read + "app")
		call(alarm)
		if want := []int{200, 400, 500, 200, 200, 500, 403, 200, 200}; !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		want := []godwittest.Point{{At: h.Now().UTC().Truncate(time.Minute), Samples: 1, Sum: 5, Min: 5, Max: 5}}
		if points := m.Points("app", "load", map[string]string{"host": "a"}); !slices.Equal(points, want) {
			t.Errorf("points %+v, want %+v", points, want)
		}
		if points := m.Points("app", "load", nil); points != nil {
			t.Errorf("without the dimension: %+v", points)
		}
		if state := m.Alarm("busy") + m.Alarm("none"); state != "INSUFFICIENT_DATA" {
			t.Errorf("a new alarm: %s", state)
		}
		h.Advance(time.Minute)
		if state := m.Alarm("busy"); state != "ALARM" {
			t.Errorf("after a minute: %s", state)
		}
	})
}

func TestFaultsOfMetricsThatCannotBe(t *testing.T) {
	for want, inject := range map[string]func(m *godwittest.Metrics){
		"at least 1":      func(m *godwittest.Metrics) { m.Fail(godwittest.Reports, "app", 0) },
		"must be Reports": func(m *godwittest.Metrics) { m.Deny("reporting", "app") },
		"never happened":  func(m *godwittest.Metrics) { m.Throttle(godwittest.Reports, "app", 1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			says(t, record(t, func(r *recorder) { inject(godwittest.New(r, nil).Metrics()) }), want, "app")
		})
	}
}
