package cloudwatch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/cloudwatch/expression"
	"github.com/godwitmq/godwit/localaws/cloudwatch/metric"
	"github.com/godwitmq/godwit/localaws/wire"
)

// queries are the parsed queries of a request or an alarm.
type queries struct {
	all  []query
	byID map[string]int
}

// query is a parsed MetricDataQuery.
type query struct {
	given      *MetricDataQuery
	id         metric.ID
	statistic  metric.Statistic
	period     time.Duration
	expression *expression.Expression // metric math; nil: none
	selection  *expression.Selection  // a query of Metrics Insights; nil: none
}

// isMetric reports whether the query is a statistic of a metric, and no expression.
func (q *query) isMetric() bool { return q.expression == nil && q.selection == nil }

// returned reports whether the query's series is part of the answer.
func (q *query) returned() bool { return q.given.ReturnData == nil || *q.given.ReturnData }

var queryID = regexp.MustCompile(`^[a-z][a-zA-Z0-9_]*$`)

// parseQueries checks queries. parameter is their name in the request.
func parseQueries(given []MetricDataQuery, parameter string) (*queries, *wire.Error) {
	qs := &queries{byID: map[string]int{}}
	for i := range given {
		path := fmt.Sprintf("%s.member.%d", parameter, i+1)
		g := &given[i]
		if !queryID.MatchString(g.ID) {
			return nil, wire.Validation("The value %s for parameter %s.Id is not matching the expected pattern %s.", g.ID, path,
				queryID)
		}
		if _, twice := qs.byID[g.ID]; twice {
			return nil, wire.Validation("The values for parameter id in %s are not unique.", parameter)
		}
		q, fault := parseQuery(g, path)
		if fault != nil {
			return nil, asValidation(fault)
		}
		qs.byID[g.ID] = i
		qs.all = append(qs.all, q)
	}
	for i := range qs.all {
		if fault := qs.checkReferences(&qs.all[i]); fault != nil {
			return nil, fault
		}
	}
	return qs, qs.checkCycles()
}

// asValidation returns an error of a metric as these actions answer it: all of theirs have one code.
func asValidation(e *wire.Error) *wire.Error {
	return &wire.Error{Code: "ValidationError", Message: e.Message}
}

func parseQuery(g *MetricDataQuery, path string) (query, *wire.Error) {
	q := query{given: g}
	switch {
	case g.MetricStat != nil && g.Expression != "":
		return q, exclusive(path+".Expression", path+".MetricStat")
	case g.MetricStat == nil && g.Expression == "":
		return q, required(path + ".MetricStat")
	case g.MetricStat != nil && g.Period != nil:
		return q, exclusive(path+".Period", path+".MetricStat")
	case g.Expression != "":
		if g.Period != nil {
			if fault := checkPeriod(*g.Period, path+".Period"); fault != nil {
				return q, fault
			}
			q.period = time.Duration(*g.Period) * time.Second
		}
		var err error
		if expression.IsSelection(g.Expression) {
			q.selection, err = expression.ParseSelection(g.Expression)
		} else {
			q.expression, err = expression.Parse(g.Expression)
		}
		if err != nil {
			return q, inExpression(g, err)
		}
		return q, nil
	}
	return q, q.parseStat(path + ".MetricStat")
}

func (q *query) parseStat(path string) *wire.Error {
	m := q.given.MetricStat
	switch {
	case m.Metric == nil:
		return required(path + ".Metric")
	case m.Period == nil:
		return required(path + ".Period")
	case m.Stat == "":
		return required(path + ".Stat")
	}
	fault := checkPeriod(*m.Period, path+".Period")
	if fault == nil {
		fault = checkUnit(m.Unit, path+".Unit")
	}
	if fault == nil {
		fault = checkName(m.Metric.Namespace, path+".Metric.Namespace")
	}
	if fault == nil {
		fault = checkName(m.Metric.MetricName, path+".Metric.MetricName")
	}
	if fault == nil {
		q.id, fault = metricID(m.Metric.Namespace, m.Metric.MetricName, m.Metric.Dimensions, path+".Metric.Dimensions")
	}
	if fault != nil {
		return fault
	}
	q.period = time.Duration(*m.Period) * time.Second
	var ok bool
	if q.statistic, ok = metric.Parse(m.Stat); !ok {
		return invalidValue("The value %s for parameter %s.Stat is not a valid statistic.", m.Stat, path)
	}
	return nil
}

func inExpression(g *MetricDataQuery, err error) *wire.Error {
	return wire.Validation("Error in expression '%s' [%s]: %v", g.ID, g.Expression, err)
}

func (qs *queries) checkReferences(q *query) *wire.Error {
	if q.expression == nil {
		return nil
	}
	for _, id := range q.expression.IDs() {
		if _, known := qs.byID[id]; !known {
			return inExpression(q.given, fmt.Errorf("there is no query with the id %s", id))
		}
	}
	return nil
}

// checkCycles refuses expressions that use each other. Queries that are removed step by step depend on none that is
// left.
func (qs *queries) checkCycles() *wire.Error {
	done := map[string]bool{}
	for range qs.all {
		progress := false
		for i := range qs.all {
			q := &qs.all[i]
			if done[q.given.ID] {
				continue
			}
			open := func(id string) bool { return !done[id] }
			if q.expression == nil || !slices.ContainsFunc(q.expression.IDs(), open) {
				done[q.given.ID], progress = true, true
			}
		}
		if !progress {
			break
		}
	}
	for i := range qs.all {
		if q := &qs.all[i]; !done[q.given.ID] {
			return inExpression(q.given, fmt.Errorf("it depends on itself"))
		}
	}
	return nil
}

// evaluation is one evaluation of queries.
type evaluation struct {
	*queries
	service  *Service
	from, to time.Time
	now      time.Time
	done     map[string]evaluated
}

// evaluated is a query's result.
type evaluated struct {
	series   []expression.Series
	counts   []map[int64]float64 // of a metric: samples by time
	messages []MessageData
}

// evaluate returns the series of all queries whose data is returned, in ascending order of time.
func evaluate(s *Service, given []MetricDataQuery, from, to, now time.Time) ([]MetricDataResult, *wire.Error) {
	qs, fault := parseQueries(given, "MetricDataQueries")
	if fault != nil {
		return nil, fault
	}
	e := &evaluation{queries: qs, service: s, from: from, to: to, now: now, done: map[string]evaluated{}}
	var results []MetricDataResult
	labels := qs.labels()
	for i := range qs.all {
		q := &qs.all[i]
		if !q.returned() {
			continue
		}
		got, err := e.result(q)
		if err != nil {
			return nil, inExpression(q.given, err)
		}
		for _, one := range got.series {
			several := len(got.series) > 1 || q.selection != nil && len(q.selection.GroupBy) > 0
			results = append(results, result(q, labels[i], one, several, got.messages))
		}
	}
	return results, nil
}

func result(q *query, label string, s expression.Series, several bool, messages []MessageData) MetricDataResult {
	r := MetricDataResult{
		ID: q.given.ID, Label: label, StatusCode: "Complete", Timestamps: make([]time.Time, 0, len(s.Times)),
		Values: make([]float64, 0, len(s.Values)), Messages: messages,
	}
	if several && s.ID != "" && q.given.Label == "" {
		r.Label = s.ID
	}
	for i, at := range s.Times {
		r.Timestamps = append(r.Timestamps, time.Unix(at, 0).UTC())
		r.Values = append(r.Values, s.Values[i])
	}
	return r
}

// result evaluates a query once. Cycles were refused before.
func (e *evaluation) result(q *query) (evaluated, error) {
	if got, done := e.done[q.given.ID]; done {
		return got, nil
	}
	var got evaluated
	var err error
	switch {
	case q.isMetric():
		got = e.metric(q)
	case q.selection != nil:
		got = e.selection(q)
	default:
		got.series, err = q.expression.Evaluate(e.environment(q))
	}
	if err == nil {
		e.done[q.given.ID] = got
	}
	return got, err
}

// metric returns the statistic of a metric. Of several units, it takes the first, as AWS does.
func (e *evaluation) metric(q *query) evaluated {
	from := begin(e.from, e.now, q.period)
	byUnit := e.service.metrics.Read(e.now, metric.Reading{
		ID: q.id, Unit: q.given.MetricStat.Unit, From: from, To: e.to, Period: q.period,
	})
	s := expression.Series{ID: q.given.ID, Period: int64(q.period / time.Second)}
	counts := map[int64]float64{}
	var got evaluated
	if len(byUnit) > 0 {
		for i := range byUnit[0] {
			p := &byUnit[0][i]
			if x, ok := q.statistic.Of(&p.Stats); ok {
				s.Times, s.Values = append(s.Times, p.At.Unix()), append(s.Values, x)
				counts[p.At.Unix()] = p.Stats.Count
			}
		}
	}
	if len(byUnit) > 1 {
		var names []string
		for _, points := range byUnit {
			names = append(names, points[0].Unit)
		}
		got.messages = []MessageData{{
			Code: "MultipleUnits", Value: "Multiple units returned: '[" + strings.Join(names, ", ") + "]'",
		}}
	}
	got.series, got.counts = []expression.Series{s}, []map[int64]float64{counts}
	return got
}

// periodOf returns the period of an expression: its own, or that of the first metric.
func (e *evaluation) periodOf(q *query) time.Duration {
	if q.period > 0 {
		return q.period
	}
	for i := range e.all {
		if e.all[i].isMetric() {
			return e.all[i].period
		}
	}
	return time.Minute
}

func (e *evaluation) environment(q *query) *expression.Environment {
	period := e.periodOf(q)
	from, to := e.bounds(period)
	return &expression.Environment{
		From: from, To: to, Period: int64(period / time.Second),
		Lookup: func(id string) ([]expression.Series, error) {
			got, err := e.result(&e.all[e.byID[id]])
			return got.series, err
		},
		Metrics: func(part string) ([]expression.Series, error) {
			var all []expression.Series
			for i := range e.all {
				if other := &e.all[i]; other.isMetric() && strings.Contains(other.given.ID, part) {
					got, err := e.result(other)
					if err != nil {
						return nil, err
					}
					all = append(all, got.series...)
				}
			}
			return all, nil
		},
	}
}

// bounds returns the request's range without times that cannot have points, so that functions that fill gaps have an
// end. The range begins at a multiple of the period from the start.
func (e *evaluation) bounds(period time.Duration) (from, to int64) {
	seconds := int64(period / time.Second)
	from, to = begin(e.from, e.now, period).Unix(), e.to.Unix()
	if first := e.now.Add(-metric.Kept(period)).Unix(); from < first {
		from += (first - from) / seconds * seconds
	}
	return from, min(to, e.now.Add(newest).Unix())
}

// labels returns the queries' labels: the given one, or the metric's name with what distinguishes it from the other
// metrics of the request.
func (qs *queries) labels() []string {
	stats, periods := map[string]bool{}, map[time.Duration]bool{}
	names := map[string]map[string]bool{} // by metric, its sets of dimensions
	for i := range qs.all {
		if q := &qs.all[i]; q.isMetric() {
			stats[q.statistic.Name], periods[q.period] = true, true
			if names[q.id.Name] == nil {
				names[q.id.Name] = map[string]bool{}
			}
			names[q.id.Name][dimensionText(q.id)] = true
		}
	}
	labels := make([]string, len(qs.all))
	for i := range qs.all {
		q := &qs.all[i]
		switch {
		case q.given.Label != "":
			labels[i] = q.given.Label
		case !q.isMetric():
			labels[i] = q.given.ID
		default:
			parts := []string{q.id.Name}
			if text := dimensionText(q.id); len(names[q.id.Name]) > 1 && text != "" {
				parts = []string{text, q.id.Name}
			}
			if len(stats) > 1 {
				parts = append(parts, q.statistic.Name)
			}
			if len(periods) > 1 {
				parts = append(parts, strconv.Itoa(int(q.period/time.Second)))
			}
			labels[i] = strings.Join(parts, " ")
		}
	}
	return labels
}

func dimensionText(id metric.ID) string {
	var values []string
	for _, d := range id.Dimensions {
		values = append(values, d.Value)
	}
	return strings.Join(values, " ")
}
