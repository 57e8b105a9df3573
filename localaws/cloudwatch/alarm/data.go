package alarm

import (
	"encoding/json"
	"slices"
	"time"
)

// Query describes what was read, for StateReasonData.
type Query struct {
	At        time.Time
	Unit      string // "": none was given
	Statistic string // "": an expression
	Period    time.Duration
}

// Data returns the JSON of StateReasonData for a verdict.
func (r *Rule) Data(v Verdict, q Query) string {
	d := reasonData{
		Version: "1.0", QueryDate: Time(q.At), Unit: q.Unit, Statistic: q.Statistic,
		Period:    int(q.Period / time.Second),
		Threshold: javaNumber(r.Threshold), RecentDatapoints: []javaNumber{},
	}
	for _, p := range slices.Backward(v.Used) {
		if !p.Missing {
			d.RecentDatapoints = append(d.RecentDatapoints, javaNumber(p.Value))
			if start := Time(p.At); d.StartDate == "" || start < d.StartDate {
				d.StartDate = start
			}
		}
	}
	for _, p := range v.Used {
		e := evaluatedData{Timestamp: Time(p.At)}
		if !p.Missing {
			value, samples := javaNumber(p.Value), javaNumber(p.Samples)
			e.Value, e.SampleCount = &value, &samples
		}
		d.EvaluatedDatapoints = append(d.EvaluatedDatapoints, e)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(text)
}
