package chart_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
)

func TestSparkline(t *testing.T) {
	golden(t, "sparkline.html", []drawn{
		{"depth", chart.Sparkline{Label: "depth", Values: wave(60, 10, 900, 2), Step: time.Minute, End: end}},
		{"beyond its limit", chart.Sparkline{
			Label: "age", Values: wave(30, 0, 1200, 1.4), Step: time.Minute, End: end, Unit: chart.Seconds, Limit: 600,
		}},
		{"with a gap", chart.Sparkline{
			Label: "depth", Values: with(wave(60, 10, 900, 2), 20, 35, unknown), Step: time.Minute, End: end,
		}},
		{"unknown at the end", chart.Sparkline{Label: "depth", Values: []float64{3, 4, unknown}, End: end}},
		{"all unknown", chart.Sparkline{Label: "depth", Values: []float64{unknown, unknown}, End: end}},
		{"one value", chart.Sparkline{Label: "depth", Values: []float64{12}, End: end}},
		{"zero", chart.Sparkline{Label: "depth", Values: make([]float64, 12), End: end}},
		{"no values", chart.Sparkline{Label: "depth", End: end}},
	})
}

func TestLines(t *testing.T) {
	two := []chart.Series{
		{Name: "sent", Values: wave(60, 20, 90, 2)},
		{Name: "done", Values: with(wave(60, 10, 80, 2.3), 40, 48, unknown)},
	}
	golden(t, "lines.html", []drawn{
		{"two series", chart.Lines{Label: "rates", Series: two, Step: time.Minute, End: end, Unit: chart.Rate}},
		{"one series beyond its limit", chart.Lines{
			Label: "oldest message", Series: []chart.Series{{Name: "age", Values: wave(48, 30, 4000, 1.5)}},
			Step: time.Hour, End: end, Unit: chart.Seconds, Limit: 1800,
		}},
		{"a limit far away, and a class", chart.Lines{
			Label: "depth", Series: []chart.Series{{Name: "depth", Class: "c-s5", Values: wave(30, 3, 7, 1)}},
			Step: time.Second, End: end, Limit: 1000,
		}},
		{"unknown between two values, and at the begin", chart.Lines{
			Label:  "depth",
			Series: []chart.Series{{Name: "depth", Values: []float64{unknown, unknown, 4, unknown, 9, 12, unknown, 7}}},
			Step:   time.Minute, End: end, Height: 120, Width: 400,
		}},
		{"a series that began later", chart.Lines{
			Label: "sizes", Series: []chart.Series{
				{Name: "bodies", Values: wave(20, 1e5, 3e6, 1)}, {Name: "headers", Values: wave(8, 1e4, 1e6, 1)},
			}, Step: 24 * time.Hour, End: end, Unit: chart.Bytes,
		}},
		{"no values", chart.Lines{Label: "depth", Series: []chart.Series{{Name: "depth"}}, End: end}},
	})
}

func TestBands(t *testing.T) {
	series := []chart.Series{
		{Name: "waiting", Values: wave(60, 100, 4000, 1.5)},
		{Name: "in flight", Values: with(wave(60, 50, 500, 3), 25, 31, unknown)},
		{Name: "delayed", Values: wave(60, 0, 900, 1)},
	}
	golden(t, "bands.html", []drawn{
		{"three series, one with a gap", chart.Bands{
			Label: "messages", Series: series, Step: time.Minute, End: end, Limit: 4500,
		}},
		{"one is always unknown", chart.Bands{
			Label: "messages", Series: []chart.Series{{Name: "waiting", Values: []float64{3, 5, 4}}, {Name: "delayed"}},
			Step: time.Minute, End: end,
		}},
		{"one value alone", chart.Bands{
			Label:  "messages",
			Series: []chart.Series{{Name: "waiting", Values: []float64{unknown, unknown, 5, unknown, unknown}}},
			Step:   time.Minute, End: end,
		}},
		{"all unknown", chart.Bands{
			Label: "messages", Series: []chart.Series{{Name: "waiting", Values: []float64{unknown, unknown}}},
			Step: time.Minute, End: end,
		}},
		{"eight series", chart.Bands{Label: "workers", Series: eight(), Step: time.Minute, End: end}},
	})
}

func eight() (all []chart.Series) {
	for i := range 8 {
		all = append(all, chart.Series{
			Name: fmt.Sprintf("worker number %d", i), Values: wave(30, 0, float64(10*i+5), float64(i)/3),
		})
	}
	return all
}

// Ten thousand values are joined to what the width shows, and the largest and the smallest of them are kept.
func TestManyValuesAreJoined(t *testing.T) {
	values := with(wave(10_000, 100, 200, 3), 5_000, 5_001, 7_777)
	values[6_000] = 1
	one := []chart.Series{{Name: "depth", Values: values}}
	for name, svg := range map[string]string{
		"lines": string(chart.Lines{Label: "depth", Series: one, Step: time.Second, End: end}.SVG()),
		"bands": string(chart.Bands{Label: "depth", Series: one, Step: time.Second, End: end}.SVG()),
	} {
		if len(svg) > 40_000 {
			t.Errorf("%s: %d bytes", name, len(svg))
		}
		if !strings.Contains(svg, "7.78k") {
			t.Errorf("%s: the largest value is lost", name)
		}
		if name == "lines" && !strings.Contains(svg, "depth 1 to ") {
			t.Errorf("%s: the smallest value is lost", name)
		}
	}
	spark := string(chart.Sparkline{Label: "depth", Values: values, Step: time.Second, End: end}.SVG())
	if len(spark) > 2_500 || !strings.Contains(spark, "at most 7.78k") {
		t.Errorf("sparkline: %d bytes", len(spark))
	}
}

func TestStrip(t *testing.T) {
	golden(t, "strip.html", []drawn{
		{"within", chart.Strip{Label: "orders", Age: 3 * time.Minute, Tolerance: 15 * time.Minute}},
		{"at it", chart.Strip{Label: "orders", Age: 15 * time.Minute, Tolerance: 15 * time.Minute}},
		{"beyond", chart.Strip{Label: "orders", Age: 40 * time.Minute, Tolerance: 15 * time.Minute}},
		{"far beyond", chart.Strip{Label: "orders", Age: 14 * 24 * time.Hour, Tolerance: 15 * time.Minute}},
		{"unknown", chart.Strip{Label: "orders", Age: -1, Tolerance: 15 * time.Minute}},
		{"no tolerance", chart.Strip{Label: "orders", Age: 2*time.Hour + 5*time.Minute}},
		{"empty", chart.Strip{Label: "orders", Tolerance: time.Minute}},
	})
}

// A strip is small, because a page has a thousand.
func TestStripsAreSmall(t *testing.T) {
	for _, age := range []time.Duration{-1, 0, time.Second, 9*time.Hour + 59*time.Minute, 1e18} {
		svg := chart.Strip{Label: "events.audit_log", Age: age, Tolerance: 9*time.Minute + 59*time.Second}.SVG()
		if len(svg) > 300 {
			t.Errorf("%d bytes: %s", len(svg), svg)
		}
	}
}

// Only what is beyond its tolerance is red.
func TestRedIsBeyondTheBound(t *testing.T) {
	for age, want := range map[time.Duration]bool{-1: false, 0: false, 60: false, 61: true, 1e9: true} {
		strip := chart.Strip{Age: age * time.Second, Tolerance: time.Minute}.SVG()
		lanes := chart.Lanes{Rows: []chart.Lane{{Age: age * time.Second, Timeout: time.Minute}}}.SVG()
		if got := strings.Contains(string(strip), "c-bad"); got != want {
			t.Errorf("strip of %ds: red %t", age, got)
		}
		if got := strings.Contains(string(lanes), "c-bad"); got != want {
			t.Errorf("lane of %ds: red %t", age, got)
		}
	}
}
