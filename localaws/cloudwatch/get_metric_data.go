package cloudwatch

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetMetricDataInput is the input of GetMetricData.
type GetMetricDataInput struct {
	MetricDataQueries []MetricDataQuery `json:"MetricDataQueries"`
	StartTime         *time.Time        `json:"StartTime"`
	EndTime           *time.Time        `json:"EndTime"`
	NextToken         string            `json:"NextToken"`
	ScanBy            string            `json:"ScanBy"`
	MaxDatapoints     *int32            `json:"MaxDatapoints"`
	LabelOptions      *LabelOptions     `json:"LabelOptions"`
}

// LabelOptions are the options of labels.
type LabelOptions struct {
	Timezone string `json:"Timezone"` // accepted; labels have no times here
}

// MetricDataQuery is one metric, or one expression on other queries.
type MetricDataQuery struct {
	ID         string      `json:"Id"`
	MetricStat *MetricStat `json:"MetricStat"`
	Expression string      `json:"Expression"`
	Label      string      `json:"Label"`
	ReturnData *bool       `json:"ReturnData"`
	Period     *int32      `json:"Period"`
	AccountID  string      `json:"AccountId"`
}

// MetricStat is a statistic of a metric.
type MetricStat struct {
	Metric *Metric `json:"Metric"`
	Period *int32  `json:"Period"`
	Stat   string  `json:"Stat"`
	Unit   string  `json:"Unit"`
}

// GetMetricDataOutput is the output of GetMetricData.
type GetMetricDataOutput struct {
	MetricDataResults []MetricDataResult `json:"MetricDataResults"`
	NextToken         string             `json:"NextToken"`
	Messages          []MessageData      `json:"Messages"`
}

// MetricDataResult is the series of a query, or of one metric of an expression with several.
type MetricDataResult struct {
	ID         string        `json:"Id"`
	Label      string        `json:"Label"`
	Timestamps []time.Time   `json:"Timestamps"`
	Values     []float64     `json:"Values"`
	StatusCode string        `json:"StatusCode"`
	Messages   []MessageData `json:"Messages"`
}

// MessageData is a remark on a result.
type MessageData struct {
	Code  string `json:"Code"`
	Value string `json:"Value"`
}

const (
	maxQueries = 500     // CloudWatch: of a request
	dataPage   = 100_800 // CloudWatch: values of a page
)

// getMetricData returns the newest values first, unless ScanBy says otherwise, and nothing for a period without
// samples. A series that a page cuts has the status PartialData (AWS's API reference, GetMetricData).
func getMetricData(s *Service, in *GetMetricDataInput) (*GetMetricDataOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	page := dataPage
	if in.MaxDatapoints != nil {
		page = int(*in.MaxDatapoints)
	}
	position, known := wire.ReadPageToken(in.NextToken)
	if !known {
		return nil, invalidToken()
	}
	now := s.opts.Clock.Now()
	results, fault := evaluate(s, in.MetricDataQueries, *in.StartTime, *in.EndTime, now)
	if fault != nil {
		return nil, fault
	}
	if in.ScanBy != "TimestampAscending" {
		for i := range results {
			results[i].reverse()
		}
	}
	out := &GetMetricDataOutput{Messages: []MessageData{}}
	out.MetricDataResults, out.NextToken, fault = cut(results, position, page)
	if fault != nil {
		return nil, fault
	}
	return out, nil
}

func (in *GetMetricDataInput) check() *wire.Error {
	switch {
	case len(in.MetricDataQueries) == 0:
		return wire.Validation("The parameter MetricDataQueries is required.")
	case len(in.MetricDataQueries) > maxQueries:
		return wire.Validation("The collection MetricDataQueries must not have a size greater than %d.", maxQueries)
	case in.StartTime == nil:
		return wire.Validation("The parameter StartTime is required.")
	case in.EndTime == nil:
		return wire.Validation("The parameter EndTime is required.")
	case in.StartTime.Equal(*in.EndTime):
		return wire.Validation("The parameter StartTime must not equal parameter EndTime.")
	case in.StartTime.After(*in.EndTime):
		return wire.Validation("The parameter EndTime must be greater than StartTime.")
	case in.ScanBy != "" && in.ScanBy != "TimestampDescending" && in.ScanBy != "TimestampAscending":
		return notInSet(in.ScanBy, "scanBy", []string{"TimestampDescending", "TimestampAscending"})
	case in.MaxDatapoints != nil && (*in.MaxDatapoints < 1 || *in.MaxDatapoints > dataPage):
		return wire.Validation("The parameter MaxDatapoints must be between 1 and %d.", dataPage)
	}
	return nil
}

func (r *MetricDataResult) reverse() {
	for i, j := 0, len(r.Values)-1; i < j; i, j = i+1, j-1 {
		r.Values[i], r.Values[j] = r.Values[j], r.Values[i]
		r.Timestamps[i], r.Timestamps[j] = r.Timestamps[j], r.Timestamps[i]
	}
}

// cut returns a page of results, from a position on: the number of a result and how many of its values were returned.
func cut(results []MetricDataResult, position string, page int) ([]MetricDataResult, string, *wire.Error) {
	first, skip := 0, 0
	if position != "" {
		a, b, _ := strings.Cut(position, ".")
		var err1, err2 error
		first, err1 = strconv.Atoi(a)
		skip, err2 = strconv.Atoi(b)
		if err1 != nil || err2 != nil || first < 0 || first >= len(results) || skip < 0 ||
			skip > len(results[first].Values) {
			return nil, "", invalidToken()
		}
	}
	some := []MetricDataResult{}
	for i := first; i < len(results); i++ {
		r := results[i]
		if i == first {
			r.Timestamps, r.Values = r.Timestamps[skip:], r.Values[skip:]
		}
		if n := len(r.Values); n > page || page == 0 && n > 0 {
			if page > 0 {
				r.Timestamps, r.Values, r.StatusCode = r.Timestamps[:page], r.Values[:page], "PartialData"
				some = append(some, r)
			}
			if i > first {
				skip = 0
			}
			return some, wire.PageToken(fmt.Sprintf("%d.%d", i, skip+page)), nil
		}
		page -= len(r.Values)
		some = append(some, r)
	}
	return some, "", nil
}
