package cloudwatch

import (
	"strconv"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// GetMetricStatisticsInput is the input of GetMetricStatistics.
type GetMetricStatisticsInput struct {
	Namespace          string      `json:"Namespace"`
	MetricName         string      `json:"MetricName"`
	Dimensions         []Dimension `json:"Dimensions"`
	StartTime          *time.Time  `json:"StartTime"`
	EndTime            *time.Time  `json:"EndTime"`
	Period             *int32      `json:"Period"`
	Statistics         []string    `json:"Statistics"`
	ExtendedStatistics []string    `json:"ExtendedStatistics"`
	Unit               string      `json:"Unit"`
}

// GetMetricStatisticsOutput is the output of GetMetricStatistics.
type GetMetricStatisticsOutput struct {
	Label      string      `json:"Label"`
	Datapoints []Datapoint `json:"Datapoints"`
}

// Datapoint has the requested statistics of one period and unit.
type Datapoint struct {
	Timestamp          time.Time          `json:"Timestamp"`
	SampleCount        *float64           `json:"SampleCount"`
	Average            *float64           `json:"Average"`
	Sum                *float64           `json:"Sum"`
	Minimum            *float64           `json:"Minimum"`
	Maximum            *float64           `json:"Maximum"`
	Unit               string             `json:"Unit"`
	ExtendedStatistics map[string]float64 `json:"ExtendedStatistics"`
}

const (
	maxDatapoints  = 1440 // CloudWatch: of one call of GetMetricStatistics
	maxStatistics  = 5
	maxPercentiles = 10
)

// getMetricStatistics returns points in no promised order, at most 1,440, which are counted before the start is rounded
// down (AWS's API reference; TestCloudWatchRecordedCount).
func getMetricStatistics(s *Service, in *GetMetricStatisticsInput) (*GetMetricStatisticsOutput, error) {
	now := s.opts.Clock.Now()
	r, fault := in.reading(now)
	if fault != nil {
		return nil, fault
	}
	statistics, fault := in.statistics()
	if fault != nil {
		return nil, fault
	}
	out := &GetMetricStatisticsOutput{Label: in.MetricName, Datapoints: []Datapoint{}}
	for _, points := range s.metrics.Read(now, r) {
		for i := range points {
			if d, any := datapoint(&points[i], statistics); any {
				out.Datapoints = append(out.Datapoints, d)
			}
		}
	}
	return out, nil
}

func (in *GetMetricStatisticsInput) reading(now time.Time) (metric.Reading, *wire.Error) {
	var r metric.Reading
	fault := checkName(in.Namespace, "Namespace")
	if fault == nil {
		fault = checkName(in.MetricName, "MetricName")
	}
	if fault == nil {
		fault = checkUnit(in.Unit, "Unit")
	}
	if fault == nil {
		r.ID, fault = metricID(in.Namespace, in.MetricName, in.Dimensions, "Dimensions")
	}
	switch {
	case fault != nil:
		return r, fault
	case in.StartTime == nil:
		return r, required("StartTime")
	case in.EndTime == nil:
		return r, required("EndTime")
	case in.Period == nil:
		return r, required("Period")
	case !in.StartTime.Before(*in.EndTime):
		return r, invalidValue("The parameter StartTime must be less than the parameter EndTime.")
	}
	if fault := checkPeriod(*in.Period, "Period"); fault != nil {
		return r, fault
	}
	r.Unit, r.Period = in.Unit, time.Duration(*in.Period)*time.Second
	r.From, r.To = begin(*in.StartTime, now, r.Period), *in.EndTime
	asked := in.EndTime.Sub(*in.StartTime) // before the start is rounded
	if n := int64((asked + r.Period - 1) / r.Period); n > maxDatapoints {
		return r, invalidCombination("You have requested up to %s datapoints, which exceeds the limit of 1,440. "+
			"You may reduce the datapoints requested by increasing Period, or decreasing the time range.", grouped(n))
	}
	return r, nil
}

// grouped writes a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (in *GetMetricStatisticsInput) statistics() ([]metric.Statistic, *wire.Error) {
	switch {
	case len(in.Statistics) > 0 && len(in.ExtendedStatistics) > 0:
		return nil, exclusive("Statistics", "ExtendedStatistics")
	case len(in.Statistics)+len(in.ExtendedStatistics) == 0:
		return nil, missingParameter("At least one of the parameters Statistics and ExtendedStatistics must be specified.")
	case len(in.Statistics) > maxStatistics:
		return nil, tooMany("Statistics", maxStatistics)
	case len(in.ExtendedStatistics) > maxPercentiles:
		return nil, tooMany("ExtendedStatistics", maxPercentiles)
	}
	var all []metric.Statistic
	for i, name := range in.Statistics {
		if !metric.Simple(name) {
			return nil, notInSet(name, "statistics."+strconv.Itoa(i+1)+".member", simpleStatistics())
		}
		s, _ := metric.Parse(name)
		all = append(all, s)
	}
	for _, name := range in.ExtendedStatistics {
		s, ok := metric.Parse(name)
		if !ok || metric.Simple(name) {
			return nil, invalidValue("The value %s for parameter ExtendedStatistics is not supported.", name)
		}
		all = append(all, s)
	}
	return all, nil
}

// simpleStatistics returns the statistics in the order in which AWS's errors list them.
func simpleStatistics() []string {
	return []string{"Maximum", "SampleCount", "Sum", "Minimum", "Average"}
}

// datapoint returns a point's statistics; any is false if none can be computed.
func datapoint(p *metric.Point, statistics []metric.Statistic) (d Datapoint, any bool) {
	d = Datapoint{Timestamp: p.At, Unit: p.Unit}
	for i := range statistics {
		x, ok := statistics[i].Of(&p.Stats)
		if !ok {
			continue
		}
		any = true
		switch statistics[i].Name {
		case "SampleCount":
			d.SampleCount = &x
		case "Average":
			d.Average = &x
		case "Sum":
			d.Sum = &x
		case "Minimum":
			d.Minimum = &x
		case "Maximum":
			d.Maximum = &x
		default:
			if d.ExtendedStatistics == nil {
				d.ExtendedStatistics = map[string]float64{}
			}
			d.ExtendedStatistics[statistics[i].Name] = x
		}
	}
	return d, any
}
