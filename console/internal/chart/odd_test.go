package chart_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
)

// An odd is a source of values that nobody expects.
type odd struct{ *rand.Rand }

var (
	oddValues = []float64{
		0, 1, -1, 0.001, 42, 1e6, 1e18, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1),
		math.Inf(-1),
	}
	oddTexts = []string{
		"", "orders", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "a\x00b\x1b[31m\u202ec\ufffe",
		"\xff\xfe", "]]>&lt;&amp;", "' onload='x", strings.Repeat("long ", 500),
		"日本語のキュー名前はとても長いです。日本語のキュー名前はとても長いです。",
	}
	oddLinks = []string{
		"", "/channels/orders?a=1&b=2", "?at=5", "javascript:alert(1)", " javascript:alert(1)", "//evil.example",
		`/\evil.example`, "https://evil.example", "\x01javascript:alert(1)", `/"onclick="alert(1)`, "data:text/html,x",
		"%zz", "JAVASCRIPT:alert(1)", "java\nscript:alert(1)",
	}
	oddTimes     = []time.Time{{}, end, end.Add(-time.Hour), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Unix(0, 0)}
	oddDurations = []time.Duration{0, 1, -1, time.Second, time.Hour, math.MaxInt64, math.MinInt64, 300 * 24 * time.Hour}
	oddNumbers   = []int{0, 1, -1, 3, 10, 500, math.MaxInt, math.MinInt}
)

func pick[T any](o odd, from []T) T { return from[o.IntN(len(from))] }

func (o odd) value() float64          { return pick(o, oddValues) }
func (o odd) text() string            { return pick(o, oddTexts) }
func (o odd) link() string            { return pick(o, oddLinks) }
func (o odd) time() time.Time         { return pick(o, oddTimes) }
func (o odd) duration() time.Duration { return pick(o, oddDurations) }
func (o odd) number() int             { return pick(o, oddNumbers) }
func (o odd) unit() chart.Unit        { return chart.Unit(o.IntN(7) - 1) }

// length is mostly small.
func (o odd) length() int { return pick(o, []int{0, 1, 2, 3, 7, 60, 400}) }

func (o odd) values() []float64 {
	values := make([]float64, o.length())
	for i := range values {
		values[i] = o.value()
	}
	return values
}

func (o odd) series() []chart.Series {
	all := make([]chart.Series, o.IntN(4))
	for i := range all {
		all[i] = chart.Series{Name: o.text(), Class: o.text(), Values: o.values()}
	}
	return all
}

// charts returns one of each.
func (o odd) charts() []drawn {
	bars, lanes := make([]chart.Bar, o.length()), make([]chart.Lane, o.length())
	for i := range bars {
		bars[i] = chart.Bar{Label: o.text(), Value: o.value(), Second: o.value(), Href: o.link()}
	}
	for i := range lanes {
		lanes[i] = chart.Lane{Label: o.text(), Age: o.duration(), Timeout: o.duration(), Href: o.link()}
	}
	rows, dots := make([]chart.HeatRow, o.IntN(4)), make([]chart.Dot, o.length())
	for i := range rows {
		rows[i] = chart.HeatRow{Label: o.text(), Href: o.link()}
		for range o.length() {
			cell := chart.HeatCell{Count: o.value(), Href: o.link(), Selected: o.IntN(9) == 0}
			rows[i].Cells = append(rows[i].Cells, cell)
		}
	}
	for i := range dots {
		dots[i] = chart.Dot{Label: o.text(), At: o.time(), Attempts: o.number(), Href: o.link()}
	}
	return []drawn{
		{"sparkline", chart.Sparkline{
			Label: o.text(), Values: o.values(), Step: o.duration(), End: o.time(), Unit: o.unit(), Limit: o.value(),
		}},
		{"lines", chart.Lines{
			Label: o.text(), Series: o.series(), Step: o.duration(), End: o.time(), Unit: o.unit(), Limit: o.value(),
			Width: o.number(), Height: o.number(),
		}},
		{"bands", chart.Bands{
			Label: o.text(), Series: o.series(), Step: o.duration(), End: o.time(), Unit: o.unit(), Limit: o.value(),
			Width: o.number(), Height: o.number(),
		}},
		{"strip", chart.Strip{Label: o.text(), Age: o.duration(), Tolerance: o.duration()}},
		{"bars", chart.Bars{
			Label: o.text(), Rows: bars, Unit: o.unit(), Name: o.text(), Second: o.text(), Width: o.number(),
		}},
		{"heat map", chart.HeatMap{Label: o.text(), Rows: rows, Step: o.duration(), End: o.time(), Width: o.number()}},
		{"flow", o.flow()},
		{"map", o.network()},
		{"lanes", chart.Lanes{Label: o.text(), Rows: lanes, Width: o.number()}},
		{"dots", chart.Dots{
			Label: o.text(), Dots: dots, From: o.time(), To: o.time(), MaxAttempts: o.number(), Width: o.number(),
		}},
	}
}

func (o odd) flow() chart.Flow {
	return chart.Flow{
		Label: o.text(), Window: o.duration(),
		Sent: o.value(), Started: o.value(), Done: o.value(), Retried: o.value(), Rejected: o.value(),
		Waiting: o.value(), Running: o.value(), Delayed: o.value(), Dead: o.value(),
		WaitingHref: o.link(), RunningHref: o.link(), DelayedHref: o.link(), DeadHref: o.link(),
	}
}

func (o odd) network() chart.Map {
	nodes, links := make([]chart.Node, o.length()), make([]chart.Link, o.length())
	id := func() string { return fmt.Sprint(o.IntN(30)) }
	for i := range nodes {
		nodes[i] = chart.Node{
			ID: id(), Kind: chart.Kind(o.IntN(6) - 1), Label: o.text(), Detail: o.text(), Class: o.text(),
			Href: o.link(),
		}
	}
	for i := range links {
		links[i] = chart.Link{From: id(), To: id(), Rate: o.value(), Filter: o.text(), Blocked: o.IntN(2) == 0}
	}
	return chart.Map{Label: o.text(), Nodes: nodes, Links: links, Width: o.number()}
}

// Whatever a chart is given, it is XML of known elements, with numbers for coordinates and no foreign link.
func TestOddInput(t *testing.T) {
	for seed := range uint64(150) {
		for _, d := range (odd{rand.New(rand.NewPCG(seed, 40))}).charts() {
			svg := string(d.chart.SVG())
			check(t, fmt.Sprintf("%s of seed %d", d.name, seed), svg)
			if strings.Contains(svg, "evil.example\"") {
				t.Errorf("%s of seed %d: a link to another server", d.name, seed)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// A chart with a link is a group, whose content is reachable without a pointer. A link to elsewhere is left out.
func TestLinks(t *testing.T) {
	for _, href := range []string{"/channels/orders?a=1", "https://evil.example", "//evil.example", "data:text/html"} {
		for _, d := range []drawn{
			{"bars", chart.Bars{Rows: []chart.Bar{{Href: href}}}},
			{"heat map", chart.HeatMap{Rows: []chart.HeatRow{{Cells: []chart.HeatCell{{Count: 1, Href: href}}}}}},
			{"flow", chart.Flow{DeadHref: href}},
			{"map", chart.Map{Nodes: []chart.Node{{ID: "a", Href: href}}}},
			{"lanes", chart.Lanes{Rows: []chart.Lane{{Href: href}}}},
			{"dots", chart.Dots{Dots: []chart.Dot{{At: end, Href: href}}}},
		} {
			svg := string(d.chart.SVG())
			linked, role := strings.Contains(svg, `<a href="/channels/orders?a=1">`), `role="img"`
			if want := href[0] == '/' && href[1] != '/'; linked != want {
				t.Errorf("%s: the link %s is there: %t", d.name, href, linked)
			}
			if linked {
				role = `role="group"`
			}
			if !strings.Contains(svg, role) || !linked && strings.Contains(svg, "<a") {
				t.Errorf("%s with the link %s: %s", d.name, href, svg)
			}
		}
	}
}

// Texts and values of a fuzzer, beside odd ones.
func FuzzCharts(f *testing.F) {
	f.Add(uint64(1), "orders", 12.5, int64(60))
	f.Add(uint64(2), "<script>", math.Inf(1), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, seed uint64, text string, value float64, duration int64) {
		o := odd{rand.New(rand.NewPCG(seed, 40))}
		d := time.Duration(duration)
		values := append(o.values(), value, 1, value)
		for _, c := range []drawn{
			{"sparkline", chart.Sparkline{Label: text, Values: values, Step: d, End: end, Limit: value}},
			{"lines", chart.Lines{
				Label: text, Series: []chart.Series{{Name: text, Class: text, Values: values}}, Step: d, End: o.time(),
				Unit: o.unit(), Limit: value,
			}},
			{"bands", chart.Bands{
				Label: text, Series: []chart.Series{{Name: text, Values: values}, {Values: o.values()}},
				Step: d, End: end,
			}},
			{"strip", chart.Strip{Label: text, Age: d, Tolerance: o.duration()}},
			{"bars", chart.Bars{Label: text, Rows: []chart.Bar{{Label: text, Value: value, Href: text}}}},
			{"dots", chart.Dots{Dots: []chart.Dot{{Label: text, At: end.Add(d), Attempts: 1, Href: text}, {At: end}}}},
			{"map", chart.Map{Nodes: []chart.Node{{ID: text, Label: text, Class: text, Href: text}}}},
		} {
			check(t, c.name, string(c.chart.SVG()))
		}
	})
}

// Values and ages as people read them.
func TestFormats(t *testing.T) {
	bars := func(u chart.Unit, v float64) string {
		svg := string(chart.Bars{Unit: u, Rows: []chart.Bar{{Label: "a", Value: v}}}.SVG())
		_, rest, _ := strings.Cut(svg, "<title>a: ")
		text, _, _ := strings.Cut(rest, "</title>")
		return strings.NewReplacer("&lt;", "<").Replace(text)
	}
	for _, c := range []struct {
		unit  chart.Unit
		value float64
		want  string
	}{
		{chart.Count, 0, "0"},
		{chart.Count, 0.001, "<0.01"},
		{chart.Count, 0.25, "0.25"},
		{chart.Count, 9.999, "10"},
		{chart.Count, 12.44, "12.4"},
		{chart.Count, 999.4, "999"},
		{chart.Count, 999.5, "1k"},
		{chart.Count, 12_400, "12.4k"},
		{chart.Count, 999_900, "1M"},
		{chart.Count, 1e18, "1000P"},
		{chart.Count, 2e18, "unknown"},
		{chart.Count, -1, "unknown"},
		{chart.Count, unknown, "unknown"},
		{chart.Rate, 1_500, "1.5k/s"},
		{chart.Seconds, 0, "0s"},
		{chart.Seconds, 0.0001, "<1ms"},
		{chart.Seconds, 0.25, "250ms"},
		{chart.Seconds, 2.58, "2.5s"},
		{chart.Seconds, 59.9, "59s"},
		{chart.Seconds, 180, "3m"},
		{chart.Seconds, 200, "3m20s"},
		{chart.Seconds, 700, "11m"},
		{chart.Seconds, 7500, "2h5m"},
		{chart.Seconds, 14 * 86400, "14d"},
		{chart.Seconds, 1e18, "106751d"},
		{chart.Bytes, 1000, "1000 B"},
		{chart.Bytes, 1536, "1.5 KiB"},
		{chart.Bytes, 16 << 20, "16 MiB"},
		{chart.Dollars, 0, "$0"},
		{chart.Dollars, 0.004, "<$0.01"},
		{chart.Dollars, 12.4, "$12.40"},
		{chart.Dollars, 1250, "$1.25k"},
	} {
		if got := bars(c.unit, c.value); got != c.want {
			t.Errorf("%v: %s, want %s", c.value, got, c.want)
		}
	}
}

// An unknown value is a word and a color of its own, never a zero.
func TestUnknownIsNotZero(t *testing.T) {
	one := []chart.Series{{Name: "depth", Values: []float64{unknown}}}
	for _, d := range []drawn{
		{"sparkline", chart.Sparkline{Label: "a", Values: []float64{unknown}, End: end}},
		{"lines", chart.Lines{Label: "a", Series: one, End: end}},
		{"bands", chart.Bands{Label: "a", Series: one, End: end}},
		{"strip", chart.Strip{Label: "a", Age: -1}},
		{"bars", chart.Bars{Label: "a", Rows: []chart.Bar{{Label: "a", Value: unknown}}}},
		{"heat map", chart.HeatMap{
			Label: "a", Rows: []chart.HeatRow{{Cells: []chart.HeatCell{{Count: unknown}}}}, End: end,
		}},
		{"flow", chart.Flow{Label: "a", Sent: unknown}},
		{"map", chart.Map{
			Label: "a", Nodes: []chart.Node{{ID: "a"}, {ID: "b", Kind: chart.Queue}},
			Links: []chart.Link{{From: "a", To: "b", Rate: unknown}},
		}},
		{"lanes", chart.Lanes{Label: "a", Rows: []chart.Lane{{Label: "a", Age: -1}}}},
		{"dots", chart.Dots{Label: "a", Dots: []chart.Dot{{Label: "a", At: end}}}},
	} {
		svg := string(d.chart.SVG())
		if !strings.Contains(svg, "unknown") || !strings.Contains(svg, "c-unknown") {
			t.Errorf("%s does not show that a value is unknown: %s", d.name, svg)
		}
	}
}

// A page of a thousand channels, and the charts of one channel.
func BenchmarkStrips(b *testing.B) {
	for b.Loop() {
		for i := range 1000 {
			_ = chart.Strip{Label: "orders", Age: time.Duration(i) * time.Second, Tolerance: 10 * time.Minute}.SVG()
		}
	}
}

func BenchmarkLines(b *testing.B) {
	c := chart.Lines{
		Label: "depth", Step: time.Minute, End: end,
		Series: []chart.Series{
			{Name: "waiting", Values: wave(360, 0, 5000, 3)}, {Name: "in flight", Values: wave(360, 0, 90, 5)},
		},
	}
	for b.Loop() {
		_ = c.SVG()
	}
}

func BenchmarkMap(b *testing.B) {
	m := many(65)
	for b.Loop() {
		_ = m.SVG()
	}
}
