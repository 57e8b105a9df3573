package emf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const (
	// maxMetrics is how many metrics CloudWatch reads of one event.
	maxMetrics = 100
	// metadata is the member of an event that says which others are metrics and dimensions.
	metadata = "_aws"
	// longestDimension is the longest value of a dimension.
	longestDimension = 1024
)

// event is a line: the metrics that have the same dimensions. All of them are of one collection, so that they have the
// time of the first.
type event struct {
	at         time.Time
	dimensions map[string]string
	metrics    []measured
}

// measured is a metric of an event.
type measured struct {
	name, unit string
	value      any // a number, or a distribution
}

// collect sorts data points into events. The error is about those that are left out.
func collect(rm *metricdata.ResourceMetrics, extra map[string]string) (events []*event, bad error) {
	by := map[string]*event{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			points, err := pointsOf(m)
			if err != nil {
				bad = errors.Join(bad, fmt.Errorf("emf: metric %s: %w", m.Name, err))
			}
			for _, p := range points {
				dimensions, err := dimensionsOf(p.attributes, extra)
				if err == nil && (m.Name == metadata || dimensions[m.Name] != "") {
					err = errors.New("its name is that of a dimension")
				}
				if err != nil {
					bad = errors.Join(bad, fmt.Errorf("emf: metric %s: %w", m.Name, err))
					continue
				}
				key := keyOf(dimensions)
				to := by[key]
				if to == nil || len(to.metrics) == maxMetrics {
					to = &event{at: p.at, dimensions: dimensions}
					by[key] = to
					events = append(events, to)
				}
				to.metrics = append(to.metrics, measured{m.Name, unitOf(m.Unit), p.value})
			}
		}
	}
	return events, bad
}

// keyOf identifies dimensions. Names and values have no control characters.
func keyOf(dimensions map[string]string) string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(dimensions)) {
		key.WriteString(name + "\x00" + dimensions[name] + "\x00")
	}
	return key.String()
}

// dimensionsOf are the attributes of a data point, and those of the options. One without a value is left out, because
// CloudWatch does not accept it.
func dimensionsOf(set attribute.Set, extra map[string]string) (map[string]string, error) {
	all := maps.Clone(extra)
	if all == nil {
		all = map[string]string{}
	}
	for it := set.Iter(); it.Next(); {
		a := it.Attribute()
		name, value := string(a.Key), a.Value.String()
		if value == "" {
			continue
		}
		if err := checkDimension(name, value); err != nil {
			return nil, err
		}
		all[name] = value
	}
	if len(all) > maxDimensions {
		return nil, fmt.Errorf("it has %d dimensions, and CloudWatch accepts %d", len(all), maxDimensions)
	}
	return all, nil
}

// checkDimension refuses what CloudWatch does not accept.
func checkDimension(name, value string) error {
	bad := func(s string) bool { return strings.ContainsFunc(s, func(r rune) bool { return !legal(r) }) }
	switch {
	case strings.TrimSpace(name) == "" || len(name) > 255 || name[0] == ':' || name == metadata || bad(name):
		return fmt.Errorf("%q is no name of a dimension: use 1 to 255 characters of ASCII, without a colon in front", name)
	case strings.TrimSpace(value) == "" || len(value) > longestDimension || bad(value):
		return fmt.Errorf("dimension %s is %q: use 1 to %d characters of ASCII", name, value, longestDimension)
	}
	return nil
}

func legal(r rune) bool { return r <= unicode.MaxASCII && !unicode.IsControl(r) }

// units are CloudWatch's, by the units of OpenTelemetry. Units of counted things are in braces.
var units = map[string]string{"s": "Seconds", "ms": "Milliseconds", "us": "Microseconds", "By": "Bytes", "%": "Percent"}

func unitOf(unit string) string {
	if strings.HasPrefix(unit, "{") {
		return "Count"
	}
	return cmp.Or(units[unit], "None")
}

// line returns the event as a line of JSON.
func (e *event) line(namespace string) ([]byte, error) {
	type definition struct{ Name, Unit string }
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	d := directive{Namespace: namespace, Dimensions: [][]string{slices.Sorted(maps.Keys(e.dimensions))}}
	root := make(map[string]any, len(e.dimensions)+len(e.metrics)+1)
	for name, value := range e.dimensions {
		root[name] = value
	}
	for _, m := range e.metrics {
		d.Metrics = append(d.Metrics, definition{m.name, m.unit})
		root[m.name] = m.value
	}
	root[metadata] = map[string]any{"Timestamp": e.at.UnixMilli(), "CloudWatchMetrics": []directive{d}}
	line, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("emf: encode metrics: %w", err)
	}
	return append(line, '\n'), nil
}
