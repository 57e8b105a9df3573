package chart_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
)

func TestBars(t *testing.T) {
	golden(t, "bars.html", []drawn{
		{"loudest keys", chart.Bars{
			Label: "handler time by key", Unit: chart.Seconds, Rows: []chart.Bar{
				{Label: "customer-42", Value: 7500, Href: "/keys/customer-42"},
				{Label: "a-customer-with-a-very-long-name-that-does-not-fit-87", Value: 320},
				{Label: "customer-7", Value: 12.5},
				{Label: "customer-8", Value: unknown},
				{Label: "customer-9"},
			},
		}},
		{"cost beside the ideal", chart.Bars{
			Label: "cost a month", Unit: chart.Dollars, Name: "now", Second: "with full batches", Rows: []chart.Bar{
				{Label: "orders", Value: 1250.4, Second: 160.2},
				{Label: "mails", Value: 31, Second: 30.8},
				{Label: "audit", Value: 0.004, Second: unknown},
			},
		}},
		{"on a phone", chart.Bars{
			Label: "cost a month", Unit: chart.Dollars, Name: "now", Second: "with full batches", Width: 324,
			Rows: []chart.Bar{
				{Label: "wishlist_events.audit_log", Value: 1250.4, Second: 160.2},
				{Label: "mails", Value: 31, Second: 30.8, Href: "/mails"},
			},
		}},
		{"two long amounts", chart.Bars{
			Label: "cost a month", Unit: chart.Dollars, Name: "now", Second: "with full batches", Width: 1180,
			Rows: []chart.Bar{{Label: "thumbnails", Value: 619.07, Second: 322.19}},
		}},
		{"none", chart.Bars{Label: "handler time by key"}},
	})
}

func TestHeatMap(t *testing.T) {
	row := func(counts ...float64) (cells []chart.HeatCell) {
		for i, n := range counts {
			cells = append(cells, chart.HeatCell{Count: n, Href: fmt.Sprintf("?group=a&at=%d", i)})
		}
		return cells
	}
	selected := row(0, 0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0)
	selected[3].Selected = true
	golden(t, "heat_map.html", []drawn{
		{"three groups", chart.HeatMap{
			Label: "dead letters by error", Step: 30 * time.Minute, End: end, Rows: []chart.HeatRow{
				{
					Label: "dial tcp <address>: connect: connection refused", Href: "?group=a",
					Cells: row(0, 0, 3, 12, 250, 1400, 900, 4, 0, 0, 1, 0),
				},
				{Label: "no such user: <id>", Cells: selected},
				{Label: "unexpected end of JSON input", Cells: row(2, unknown, unknown, 0, 60)},
			},
		}},
		{"no cells", chart.HeatMap{Label: "dead letters", Rows: []chart.HeatRow{{Label: "a"}}, End: end}},
		{"none", chart.HeatMap{Label: "dead letters", End: end}},
	})
}

// More cells than the width has are joined: the counts are added up, and no link leads to one of several.
func TestManyCellsAreJoined(t *testing.T) {
	cells := make([]chart.HeatCell, 10_000)
	for i := range cells {
		cells[i] = chart.HeatCell{Count: 1, Href: "/one"}
	}
	svg := string(chart.HeatMap{
		Label: "dead letters", Step: time.Second, End: end, Rows: []chart.HeatRow{{Label: "a", Cells: cells}},
	}.SVG())
	if strings.Contains(svg, "<a ") {
		t.Error("a joined cell has a link")
	}
	sum := 0
	for part := range strings.SplitSeq(svg, "</title>") {
		if _, count, ok := strings.Cut(part, ": "); ok {
			var n int
			if _, err := fmt.Sscan(count, &n); err == nil {
				sum += n
			}
		}
	}
	if len(svg) > 20_000 || sum != 10_000 {
		t.Errorf("%d bytes, %d messages; want 10000", len(svg), sum)
	}
}

func TestLanes(t *testing.T) {
	golden(t, "lanes.html", []drawn{
		{"four handlers", chart.Lanes{
			Label: "running handlers", Rows: []chart.Lane{
				{Label: "orders, key customer-42", Age: 42 * time.Second, Timeout: 30 * time.Second, Href: "/w/1"},
				{Label: "orders, key customer-7", Age: 12 * time.Second, Timeout: 30 * time.Second},
				{Label: "reports", Age: 11 * time.Minute, Timeout: time.Hour},
				{Label: "mails", Age: 250 * time.Millisecond},
				{Label: "audit", Age: -1, Timeout: time.Minute},
			},
		}},
		{"on a phone", chart.Lanes{
			Label: "running handlers", Width: 324, Rows: []chart.Lane{
				{Label: "orders, key customer-42", Age: 42 * time.Second, Timeout: 30 * time.Second, Href: "/w/1"},
				{Label: "orders, key customer-7", Age: 12 * time.Second, Timeout: 30 * time.Second},
			},
		}},
		{"none", chart.Lanes{Label: "running handlers"}},
	})
}

func TestDots(t *testing.T) {
	var many []chart.Dot
	for i := range 60 {
		many = append(many, chart.Dot{
			Label: fmt.Sprintf("message %d", i), At: end.Add(-time.Duration(i*i) * time.Second), Attempts: i % 7,
			Href: fmt.Sprintf("/messages/%d", i),
		})
	}
	golden(t, "dots.html", []drawn{
		{"sixty messages", chart.Dots{Label: "messages", Dots: many, MaxAttempts: 5}},
		{"within a time", chart.Dots{
			Label: "messages", From: end.Add(-10 * time.Minute), To: end, Dots: []chart.Dot{
				{Label: "before", At: end.Add(-time.Hour), Attempts: 1},
				{Label: "a", At: end.Add(-time.Minute), Attempts: 1},
				{Label: "b", At: end.Add(-time.Minute), Attempts: 1},
				{Label: "c", At: end, Attempts: 40},
			},
		}},
		{"one", chart.Dots{Label: "messages", Dots: []chart.Dot{{Label: "a", At: end, Attempts: 1}}}},
		{"none", chart.Dots{Label: "messages", From: end.Add(-time.Hour), To: end}},
	})
}

// Ten thousand messages are one dot a place, and none is lost.
func TestManyDotsAreJoined(t *testing.T) {
	dots := make([]chart.Dot, 10_000)
	for i := range dots {
		dots[i] = chart.Dot{Label: "a", At: end.Add(time.Duration(i) * time.Second), Attempts: 1 + i%3}
	}
	svg := string(chart.Dots{Label: "messages", Dots: dots}.SVG())
	sum := 0
	for part := range strings.SplitSeq(svg, "<title>") {
		var n int
		if _, err := fmt.Sscanf(part, "%d messages", &n); err == nil {
			sum += n
		}
	}
	if len(svg) > 70_000 || sum < 9_990 {
		t.Errorf("%d bytes, %d messages; want nearly 10000", len(svg), sum)
	}
}

// Rows that cannot be read are counted, not drawn.
func TestManyRowsAreCounted(t *testing.T) {
	svg := string(chart.Bars{Label: "keys", Rows: make([]chart.Bar, 1000)}.SVG())
	if !strings.Contains(svg, "and 800 more") {
		t.Error("the chart does not say how many rows are missing")
	}
}
