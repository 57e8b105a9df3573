package cloudwatch

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/expression"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
)

// maxProcessed is how many metrics a query of Metrics Insights reads at most on CloudWatch.
const maxProcessed = 10_000

// selectedGroup is one series of a query of Metrics Insights: the samples of all metrics of a group by time.
type selectedGroup struct {
	label string
	stats map[int64]*metric.Stats
}

// selection returns the series of a query of Metrics Insights: one for each group that has data, or one for all
// metrics.
func (e *evaluation) selection(q *query) evaluated {
	period := e.periodOf(q)
	groups := map[string]*selectedGroup{}
	if len(q.selection.GroupBy) == 0 {
		groups[""] = &selectedGroup{label: q.given.ID, stats: map[int64]*metric.Stats{}}
	}
	for _, found := range e.selected(q.selection) {
		values := q.selection.Group(dimensionsOf(found))
		key := strings.Join(values, "\x00")
		g := groups[key]
		if g == nil {
			g = &selectedGroup{label: strings.Join(values, " "), stats: map[int64]*metric.Stats{}}
		}
		for _, points := range e.service.metrics.Read(e.now, metric.Reading{
			ID: found, From: begin(e.from, e.now, period), To: e.to, Period: period,
		}) {
			g.add(points)
		}
		if len(g.stats) > 0 {
			groups[key] = g
		}
	}
	var got evaluated
	statistic, _ := metric.Parse(statistics(q.selection.Function))
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		got.series = append(got.series, groups[key].series(&statistic, period))
	}
	got.series = q.selection.Arrange(got.series)
	return got
}

// selected returns the metrics that a query reads.
func (e *evaluation) selected(s *expression.Selection) []metric.ID {
	listed := e.service.metrics.List("", maxProcessed, func(l metric.Listed) bool {
		return l.ID.Namespace == s.Namespace && l.ID.Name == s.Metric && s.Matches(dimensionsOf(l.ID))
	})
	ids := make([]metric.ID, len(listed))
	for i := range listed {
		ids[i] = listed[i].ID
	}
	return ids
}

func dimensionsOf(id metric.ID) map[string]string {
	values := make(map[string]string, len(id.Dimensions))
	for _, d := range id.Dimensions {
		values[d.Name] = d.Value
	}
	return values
}

// statistics returns the statistic of a function of Metrics Insights.
func statistics(function string) string {
	switch function {
	case "AVG":
		return "Average"
	case "COUNT":
		return "SampleCount"
	case "MAX":
		return "Maximum"
	case "MIN":
		return "Minimum"
	}
	return "Sum"
}

func (g *selectedGroup) add(points []metric.Point) {
	for i := range points {
		at := points[i].At.Unix()
		if g.stats[at] == nil {
			g.stats[at] = &metric.Stats{}
		}
		g.stats[at].Add(points[i].Stats)
	}
}

func (g *selectedGroup) series(statistic *metric.Statistic, period time.Duration) expression.Series {
	s := expression.Series{ID: g.label, Period: int64(period / time.Second)}
	for _, at := range slices.Sorted(maps.Keys(g.stats)) {
		if x, ok := statistic.Of(g.stats[at]); ok {
			s.Times, s.Values = append(s.Times, at), append(s.Values, x)
		}
	}
	return s
}
