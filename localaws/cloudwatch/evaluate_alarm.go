package cloudwatch

import (
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/alarm"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
)

// shortInterval is how often alarms with a period below a minute are evaluated; others are evaluated every minute.
const shortInterval = 10 * time.Second

func (a *metricAlarm) interval() time.Duration {
	if a.period() < time.Minute {
		return shortInterval
	}
	return time.Minute
}

// watched is what an alarm's evaluation reads.
type watched struct {
	points []alarm.Datapoint
	tooFew bool // a percentile of too few samples, which the alarm ignores
}

// read returns the datapoints of the evaluation range, the oldest first. The range slides: its last period ends now.
func read(s *Service, a *metricAlarm, now time.Time) watched {
	period := a.period()
	n := a.rule.Range()
	from := now.Add(-time.Duration(n) * period)
	w := watched{points: make([]alarm.Datapoint, n)}
	for i := range w.points {
		w.points[i] = alarm.Datapoint{At: from.Add(time.Duration(i) * period), Missing: true}
	}
	set := func(at time.Time, x, samples float64) {
		if i := int(at.Sub(from) / period); i >= 0 && i < n {
			w.points[i] = alarm.Datapoint{At: at, Value: x, Samples: samples}
		}
	}
	if a.queries != nil {
		readQueries(s, a, from, now, set)
		return w
	}
	in := a.input
	statistic, _ := metric.Parse(in.Statistic + in.ExtendedStatistic)
	id, _ := metricID(in.Namespace, in.MetricName, in.Dimensions, "Dimensions")
	byUnit := s.metrics.Read(now, metric.Reading{ID: id, Unit: in.Unit, From: from, To: now, Period: period})
	if len(byUnit) == 0 {
		return w
	}
	for i := range byUnit[0] {
		p := &byUnit[0][i]
		if x, ok := statistic.Of(&p.Stats); ok {
			set(p.At, x, p.Stats.Count)
			if in.EvaluateLowSampleCountPercentile == "ignore" && p.Stats.Count < needed(in.ExtendedStatistic) {
				w.tooFew = true
			}
		}
	}
	return w
}

// needed returns how many samples a percentile needs to be meaningful, by AWS's rule; 0: any number.
func needed(statistic string) float64 {
	percent, err := strconv.ParseFloat(strings.TrimPrefix(statistic, "p"), 64)
	switch share := percent / 100; {
	case err != nil || share <= 0 || share >= 1:
		return 0
	case share >= 0.5:
		return 10 / (1 - share)
	default:
		return 10 / share
	}
}

func readQueries(s *Service, a *metricAlarm, from, to time.Time, set func(at time.Time, x, samples float64)) {
	e := &evaluation{queries: a.queries, service: s, from: from, to: to, now: to, done: map[string]evaluated{}}
	q := a.queries.decisive()
	got, err := e.result(q)
	if err != nil || len(got.series) != 1 {
		s.log.Warn("cloudwatch: an alarm cannot be evaluated: its expression must give one time series",
			"alarm", a.input.AlarmName, "series", len(got.series), "error", err)
		return
	}
	for i, at := range got.series[0].Times {
		samples := 1.0
		if len(got.counts) > 0 {
			samples = got.counts[0][at]
		}
		set(time.Unix(at, 0).UTC(), got.series[0].Values[i], samples)
	}
}
