package cloudwatch

import (
	"slices"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// ListMetricsInput is the input of ListMetrics.
type ListMetricsInput struct {
	Namespace             string            `json:"Namespace"`
	MetricName            string            `json:"MetricName"`
	Dimensions            []DimensionFilter `json:"Dimensions"`
	NextToken             string            `json:"NextToken"`
	RecentlyActive        string            `json:"RecentlyActive"`
	IncludeLinkedAccounts *bool             `json:"IncludeLinkedAccounts"`
	OwningAccount         string            `json:"OwningAccount"`
}

// DimensionFilter is a dimension that a metric must have, with any value if Value is "".
type DimensionFilter struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

// ListMetricsOutput is the output of ListMetrics.
type ListMetricsOutput struct {
	Metrics        []Metric `json:"Metrics"`
	NextToken      string   `json:"NextToken"`
	OwningAccounts []string `json:"OwningAccounts"`
}

// Metric names a metric.
type Metric struct {
	Namespace  string      `json:"Namespace"`
	MetricName string      `json:"MetricName"`
	Dimensions []Dimension `json:"Dimensions"`
}

const (
	metricsPage = 500                 // CloudWatch: metrics of a page
	maxFilters  = 10                  // CloudWatch: dimensions of a request
	listed      = 14 * 24 * time.Hour // CloudWatch lists metrics with samples in the last two weeks
	recently    = 3 * time.Hour       // PT3H
)

// listMetrics lists metrics with samples of the last two weeks. AWS shows a new one after up to 15 minutes; here it is
// listed at once (AWS's API reference, ListMetrics).
func listMetrics(s *Service, in *ListMetricsInput) (*ListMetricsOutput, error) {
	after, known := wire.ReadPageToken(in.NextToken)
	if !known {
		return nil, invalidToken()
	}
	since := s.opts.Clock.Now().Add(-listed)
	switch in.RecentlyActive {
	case "":
	case "PT3H":
		since = s.opts.Clock.Now().Add(-recently)
	default:
		return nil, notInSet(in.RecentlyActive, "recentlyActive", []string{"PT3H"})
	}
	if len(in.Dimensions) > maxFilters {
		return nil, tooMany("Dimensions", maxFilters)
	}
	for _, d := range in.Dimensions {
		if fault := checkName(d.Name, "Dimensions.Name"); fault != nil {
			return nil, fault
		}
	}
	out := &ListMetricsOutput{Metrics: []Metric{}}
	if in.OwningAccount != "" && in.OwningAccount != s.opts.Account {
		return out, nil
	}
	found := s.metrics.List(after, metricsPage+1, func(l metric.Listed) bool {
		return l.Seen.After(since) && in.wants(l.ID)
	})
	if len(found) > metricsPage {
		found = found[:metricsPage]
		out.NextToken = wire.PageToken(found[metricsPage-1].Key)
	}
	for _, l := range found {
		out.Metrics = append(out.Metrics,
			Metric{Namespace: l.ID.Namespace, MetricName: l.ID.Name, Dimensions: dimensions(l.ID)})
		if in.IncludeLinkedAccounts != nil && *in.IncludeLinkedAccounts {
			out.OwningAccounts = append(out.OwningAccounts, s.opts.Account)
		}
	}
	return out, nil
}

func (in *ListMetricsInput) wants(id metric.ID) bool {
	if in.Namespace != "" && in.Namespace != id.Namespace || in.MetricName != "" && in.MetricName != id.Name {
		return false
	}
	return !slices.ContainsFunc(in.Dimensions, func(f DimensionFilter) bool { return !has(id, f) })
}

func has(id metric.ID, f DimensionFilter) bool {
	return slices.ContainsFunc(id.Dimensions, func(d metric.Dimension) bool {
		return d.Name == f.Name && (f.Value == "" || f.Value == d.Value)
	})
}
