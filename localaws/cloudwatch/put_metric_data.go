package cloudwatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// PutMetricDataInput is the input of PutMetricData.
type PutMetricDataInput struct {
	Namespace              string       `json:"Namespace"`
	MetricData             []Datum      `json:"MetricData"`
	EntityMetricData       []EntityData `json:"EntityMetricData"`
	StrictEntityValidation *bool        `json:"StrictEntityValidation"`
}

// EntityData are metrics of an entity. The entity itself is accepted and not stored.
type EntityData struct {
	Entity     *Entity `json:"Entity"`
	MetricData []Datum `json:"MetricData"`
}

// Entity is what metrics belong to, for navigation in AWS's console.
type Entity struct {
	KeyAttributes map[string]string `json:"KeyAttributes"`
	Attributes    map[string]string `json:"Attributes"`
}

// maxData is the most metrics of one request.
const maxData = 1000

// reserved is the begin of AWS's own namespaces.
const reserved = "AWS/"

// putMetricData stores all samples of a request or none. Namespaces that begin with AWS/ are refused, and a new metric
// is visible at once, on AWS after minutes (AWS's API reference, PutMetricData).
func putMetricData(s *Service, in *PutMetricDataInput) (*Empty, error) {
	if fault := checkName(in.Namespace, "Namespace"); fault != nil {
		return nil, fault
	}
	if strings.HasPrefix(in.Namespace, reserved) || strings.HasPrefix(in.Namespace, ":") {
		return nil, invalidValue("The value %s for parameter Namespace is invalid.", in.Namespace)
	}
	samples, fault := in.samples(s.opts.Clock.Now())
	if fault != nil {
		return nil, fault
	}
	if fault := s.opts.Bounds.full(); fault != nil {
		return nil, fault
	}
	s.metrics.Put(s.opts.Clock.Now(), samples...)
	s.minutes.start(time.Hour) // points expire
	return &Empty{}, nil
}

// samples checks the whole request, so that nothing of an invalid one is stored.
func (in *PutMetricDataInput) samples(now time.Time) ([]metric.Sample, *wire.Error) {
	var samples []metric.Sample
	add := func(data []Datum, path string) *wire.Error {
		for i := range data {
			x, fault := data[i].sample(in.Namespace, now, fmt.Sprintf("%s.member.%d", path, i+1))
			if fault != nil {
				return fault
			}
			samples = append(samples, x)
		}
		return nil
	}
	total := len(in.MetricData)
	for i := range in.EntityMetricData {
		total += len(in.EntityMetricData[i].MetricData)
	}
	switch {
	case total == 0:
		return nil, required("MetricData")
	case total > maxData:
		return nil, tooMany("MetricData", maxData)
	}
	if fault := add(in.MetricData, "MetricData"); fault != nil {
		return nil, fault
	}
	for i := range in.EntityMetricData {
		path := fmt.Sprintf("EntityMetricData.member.%d.MetricData", i+1)
		if fault := add(in.EntityMetricData[i].MetricData, path); fault != nil {
			return nil, fault
		}
	}
	return samples, nil
}

// Dimension is a name and a value of a metric.
type Dimension struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

// Datum is what PutMetricData reports about one metric.
type Datum struct {
	MetricName        string        `json:"MetricName"`
	Dimensions        []Dimension   `json:"Dimensions"`
	Timestamp         *time.Time    `json:"Timestamp"`
	Value             *float64      `json:"Value"`
	StatisticValues   *StatisticSet `json:"StatisticValues"`
	Values            []float64     `json:"Values"`
	Counts            []float64     `json:"Counts"`
	Unit              string        `json:"Unit"`
	StorageResolution *int32        `json:"StorageResolution"`
}

// StatisticSet summarizes samples.
type StatisticSet struct {
	SampleCount *float64 `json:"SampleCount"`
	Sum         *float64 `json:"Sum"`
	Minimum     *float64 `json:"Minimum"`
	Maximum     *float64 `json:"Maximum"`
}

const (
	maxDimensions = 30                  // CloudWatch: of a metric
	maxValues     = 150                 // CloudWatch: values of a datum
	oldest        = 14 * 24 * time.Hour // CloudWatch: how old a sample may be
	newest        = 2 * time.Hour       // CloudWatch: how far in the future
)

// largest bounds values: 2 to the power of 360.
var largest = math.Ldexp(1, 360)

// units returns CloudWatch's units.
func units() []string {
	return []string{
		"Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes", "Bits",
		"Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count", "Bytes/Second", "Kilobytes/Second",
		"Megabytes/Second", "Gigabytes/Second", "Terabytes/Second", "Bits/Second", "Kilobits/Second",
		"Megabits/Second", "Gigabits/Second", "Terabits/Second", "Count/Second", metric.NoUnit,
	}
}

func checkUnit(unit, path string) *wire.Error {
	if unit != "" && !slices.Contains(units(), unit) {
		return invalidValue("The parameter %s must be a value in the set [ %s ].", path, strings.Join(units(), ", "))
	}
	return nil
}

// sample checks a datum and returns what to store. path is the datum's place in the request, for errors.
func (d *Datum) sample(namespace string, now time.Time, path string) (metric.Sample, *wire.Error) {
	x := metric.Sample{At: now, Unit: d.Unit}
	fault := checkName(d.MetricName, path+".MetricName")
	if fault == nil {
		fault = checkUnit(d.Unit, path+".Unit")
	}
	if fault == nil {
		x.ID, fault = metricID(namespace, d.MetricName, d.Dimensions, path+".Dimensions")
	}
	if fault == nil {
		x.Stats, fault = d.stats(path)
	}
	if fault != nil {
		return x, fault
	}
	if d.Timestamp != nil {
		x.At = *d.Timestamp
		switch {
		case x.At.Before(now.Add(-oldest)):
			return x, invalidValue("The parameter %s.Timestamp must specify a time no more than two weeks in the past.",
				path)
		case x.At.After(now.Add(newest)):
			return x, invalidValue("The parameter %s.Timestamp must specify a time no more than two hours in the future.",
				path)
		}
	}
	if r := d.StorageResolution; r != nil {
		if *r != 1 && *r != 60 {
			return x, invalidValue("The value %d for parameter %s.StorageResolution is invalid. It must be 1 or 60.", *r,
				path)
		}
		x.Fine = *r == 1
	}
	return x, nil
}

func (d *Datum) stats(path string) (metric.Stats, *wire.Error) {
	switch {
	case d.Value != nil && len(d.Values) > 0:
		return metric.Stats{}, exclusive(path+".Value", path+".Values")
	case d.Value != nil && d.StatisticValues != nil:
		return metric.Stats{}, exclusive(path+".Value", path+".StatisticValues")
	case d.Value != nil:
		return metric.Of(*d.Value, 1), checkNumber(*d.Value, path+".Value")
	case len(d.Values) > 0: // as on AWS, a statistic set beside them is accepted
		return d.listed(path)
	case d.StatisticValues != nil:
		return d.StatisticValues.stats(path + ".StatisticValues")
	}
	return metric.Stats{}, missingParameter(
		"At least one of the parameters %s.Value, %s.Values or %s.StatisticValues must be specified.", path, path, path)
}

// listed returns the samples of Values and Counts.
func (d *Datum) listed(path string) (metric.Stats, *wire.Error) {
	var s metric.Stats
	switch {
	case len(d.Values) > maxValues:
		return s, tooMany(path+".Values", maxValues)
	case len(d.Counts) > 0 && len(d.Counts) != len(d.Values):
		return s, invalidValue("The parameters %s.Values and %s.Counts must be of the same size.", path, path)
	}
	for i, x := range d.Values {
		count := 1.0
		if len(d.Counts) > 0 {
			count = d.Counts[i]
		}
		if fault := checkNumber(x, path+".Values"); fault != nil {
			return s, fault
		}
		if fault := checkNumber(count, path+".Counts"); fault != nil {
			return s, fault
		}
		if count < 0 {
			return s, invalidValue("The value %v for parameter %s.Counts is invalid.", count, path)
		}
		s.Add(metric.Of(x, count))
	}
	if s.Count == 0 {
		return s, invalidValue("The parameter %s.Counts must have a value greater than 0.", path)
	}
	return s, nil
}

func (set *StatisticSet) stats(path string) (metric.Stats, *wire.Error) {
	var s metric.Stats
	for _, member := range []struct {
		name string
		from *float64
		to   *float64
	}{
		{"SampleCount", set.SampleCount, &s.Count},
		{"Sum", set.Sum, &s.Sum},
		{"Minimum", set.Minimum, &s.Min},
		{"Maximum", set.Maximum, &s.Max},
	} {
		if member.from == nil {
			return s, required(path + "." + member.name)
		}
		if fault := checkNumber(*member.from, path+"."+member.name); fault != nil {
			return s, fault
		}
		*member.to = *member.from
	}
	switch {
	case s.Max < s.Min:
		return s, invalidValue("The parameter %s.Maximum must be greater than %s.Minimum.", path, path)
	case s.Count <= 0:
		return s, invalidValue("The parameter %s.SampleCount must be greater than 0.", path)
	}
	return s, nil
}

func checkNumber(x float64, path string) *wire.Error {
	switch {
	case math.IsNaN(x):
		return invalidValue("The value NaN for parameter %s is invalid.", path)
	case math.Abs(x) > largest:
		return invalidValue("The value %v for parameter %s is invalid.", x, path)
	}
	return nil
}

// metricID checks dimensions and returns the metric's ID.
func metricID(namespace, name string, dimensions []Dimension, path string) (metric.ID, *wire.Error) {
	id := metric.ID{Namespace: namespace, Name: name}
	if len(dimensions) > maxDimensions {
		return id, tooMany(path, maxDimensions)
	}
	for i, d := range dimensions {
		at := fmt.Sprintf("%s.member.%d", path, i+1)
		if fault := checkName(d.Name, at+".Name"); fault != nil {
			return id, fault
		}
		if fault := checkText(d.Value, at+".Value", maxDimensionValue); fault != nil {
			return id, fault
		}
		for _, other := range id.Dimensions {
			if other.Name == d.Name {
				return id, invalidValue("The parameter %s has the dimension %s twice.", path, d.Name)
			}
		}
		id.Dimensions = append(id.Dimensions, metric.Dimension{Name: d.Name, Value: d.Value})
	}
	return id, nil
}

const (
	maxName           = 255  // CloudWatch: of a namespace, a metric, a dimension
	maxDimensionValue = 1024 // CloudWatch
)

func checkName(name, path string) *wire.Error { return checkText(name, path, maxName) }

// checkText checks a text that names something.
func checkText(text, path string, most int) *wire.Error {
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	switch {
	case text == "":
		return required(path)
	case len([]rune(text)) > most:
		return invalidValue("The parameter %s must be shorter than %d characters.", path, most+1)
	case strings.IndexFunc(text, control) >= 0:
		return invalidValue("The parameter %s must not have control characters.", path)
	}
	return nil
}

// dimensions returns a metric's dimensions as the API shows them.
func dimensions(id metric.ID) []Dimension {
	shown := make([]Dimension, 0, len(id.Dimensions))
	for _, d := range id.Dimensions {
		shown = append(shown, Dimension{Name: d.Name, Value: d.Value})
	}
	return shown
}
