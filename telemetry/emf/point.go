package emf

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// point is a data point of any kind.
type point struct {
	attributes attribute.Set
	at         time.Time
	value      any
}

// distribution is the value of a histogram: a value for each bucket, and how often it occurred.
type distribution struct {
	Values []float64
	Counts []float64
	Max    float64
	Min    float64
	Count  float64
	Sum    float64
}

// pointsOf returns the data points of a metric, without those that report nothing new.
func pointsOf(m metricdata.Metrics) ([]point, error) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		return numbers(data.DataPoints, true)
	case metricdata.Sum[float64]:
		return numbers(data.DataPoints, true)
	case metricdata.Gauge[int64]:
		return numbers(data.DataPoints, false)
	case metricdata.Gauge[float64]:
		return numbers(data.DataPoints, false)
	case metricdata.Histogram[int64]:
		return distributions(data.DataPoints)
	case metricdata.Histogram[float64]:
		return distributions(data.DataPoints)
	}
	return nil, fmt.Errorf("values of type %T are not supported", m.Data)
}

// errNoNumber is the error of a value that CloudWatch does not accept.
var errNoNumber = errors.New("a value is not a number, or infinite")

// numbers are the points of a counter or gauge. A counter that was not increased reports nothing.
func numbers[N int64 | float64](all []metricdata.DataPoint[N], counter bool) (points []point, err error) {
	for _, p := range all {
		switch {
		case !finite(float64(p.Value)):
			err = errNoNumber
		case counter && p.Value == 0:
		default:
			points = append(points, point{p.Attributes, p.Time, p.Value})
		}
	}
	return points, err
}

// distributions are the points of a histogram.
func distributions[N int64 | float64](all []metricdata.HistogramDataPoint[N]) (points []point, err error) {
	for _, p := range all {
		switch {
		case p.Count == 0:
		case !finite(float64(p.Sum)):
			err = errNoNumber
		default:
			points = append(points, point{p.Attributes, p.Time, distributionOf(p)})
		}
	}
	return points, err
}

// distributionOf returns the middle of each bucket as its value, within the minimum and the maximum.
func distributionOf[N int64 | float64](p metricdata.HistogramDataPoint[N]) distribution {
	d := distribution{Count: float64(p.Count), Sum: float64(p.Sum)}
	low, lowKnown := p.Min.Value()
	high, highKnown := p.Max.Value()
	d.Min, d.Max = float64(low), float64(high)
	if !lowKnown || !highKnown {
		d.Min, d.Max = d.Sum/d.Count, d.Sum/d.Count
		if n := len(p.Bounds); n > 0 {
			d.Min, d.Max = min(d.Min, p.Bounds[0]), max(d.Max, p.Bounds[n-1])
		}
	}
	for i, n := range p.BucketCounts {
		if n == 0 {
			continue
		}
		from, to := d.Min, d.Max
		if i > 0 {
			from = max(from, p.Bounds[i-1])
		}
		if i < len(p.Bounds) {
			to = min(to, p.Bounds[i])
		}
		d.Values = append(d.Values, from+(to-from)/2)
		d.Counts = append(d.Counts, float64(n))
	}
	return d
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
