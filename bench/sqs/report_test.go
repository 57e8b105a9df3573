//go:build unix

package sqs

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"
)

var write = flag.String("sqs.write", "",
	"measure everything, and write the section of benchmarks.md, and its charts, into this folder")

//go:embed report.tmpl
var page string

const ms = time.Millisecond

// The values for which the scenes are measured. The middle round trip is the example in AWS's documentation of SQS.
var (
	trips    = []time.Duration{0, 5 * ms, 20 * ms, 50 * ms}
	handlers = []time.Duration{0, ms, 10 * ms, 100 * ms}
	pools    = []int{10, 64, 256, 1000}
	crowds   = []int{1, 12, 16, 24, 64, 256}
	rates    = []float64{1, 10, 100, 1000}
)

const (
	middle = 20 * ms
	// The price in US dollars of a million requests to standard queues in us-east-1, beyond the free tier.
	pricePerMillion = 0.40
)

// report has the methods that the page's template calls. Each method measures one part and returns it as Markdown.
type report struct {
	t      *testing.T
	folder string
}

// TestReport writes the page. It takes a quarter of an hour.
func TestReport(t *testing.T) {
	if *write == "" {
		t.Skip("-sqs.write is not set")
	}
	r := &report{t, *write}
	if err := os.MkdirAll(filepath.Join(r.folder, "charts"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := template.Must(template.New("page").Parse(page)).Execute(&out, r); err != nil {
		t.Fatal(err)
	}
	if err := r.replace(filepath.Join(r.folder, "benchmarks.md"), out.String()); err != nil {
		t.Fatal(err)
	}
}

// The section is between these lines of the page.
const (
	sectionBegins = "<!-- sqs: written by `make bench-sqs` -->\n"
	sectionEnds   = "<!-- end of sqs -->\n"
)

// replace replaces the section of a page.
func (r *report) replace(file, section string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), sectionBegins)
	_, after, ends := strings.Cut(rest, sectionEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q", file, sectionBegins, sectionEnds)
	}
	return os.WriteFile(file, []byte(before+sectionBegins+strings.Trim(section, "\n")+"\n"+sectionEnds+after), 0o644)
}

// table formats a table in Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	put := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	put(head)
	put(repeated("---", len(head)))
	for _, row := range rows {
		put(row)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func repeated(s string, n int) []string {
	return strings.Split(strings.Repeat(s+"\n", n-1)+s, "\n")
}

// draw writes a chart, and returns the Markdown that includes it.
func (r *report) draw(name string, c *chart) string {
	if err := os.WriteFile(filepath.Join(r.folder, "charts", name+".svg"), []byte(c.svg()), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("![%s](charts/%s.svg)", c.title, name)
}

// Machine names the machine on which CPU was measured.
func (r *report) Machine() string {
	return fmt.Sprintf("%s, %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// Publish measures senders in a loop.
func (r *report) Publish() string {
	contenders := []publishing{byHand, byWatermill, byGoCloud, byGodwit}
	head := []string{"round trip", "senders"}
	for _, p := range contenders {
		head = append(head, p.name)
	}
	c := &chart{title: "Senders in a loop at 20 ms: of senders ÷ round trip", unit: " %", under: "senders"}
	lines := make([]line, len(contenders))
	var rows [][]string
	for _, trip := range trips[1:] {
		for _, n := range crowds {
			row := []string{trip.String(), strconv.Itoa(n)}
			for i, p := range contenders {
				f := publishScene{trip: trip, senders: n}.run(r.t, p)
				share := 100 * f.rate * trip.Seconds() / float64(n)
				row = append(row, fmt.Sprintf("%.0f/s (%.2f)", f.rate, f.requests))
				if trip == middle && p.batch == 1 {
					lines[i].name, lines[i].values = p.name, append(lines[i].values, share)
				}
			}
			rows = append(rows, row)
			if trip == middle {
				c.at = append(c.at, strconv.Itoa(n))
			}
		}
	}
	c.lines = lines[1:]
	return table(head, rows) + "\n\n" + r.draw("sqs-publish", c)
}

// Consume measures consumers of a backlog, with a table for each duration of the handler.
func (r *report) Consume() string {
	var b strings.Builder
	charts := map[int]*chart{}
	for _, pool := range pools {
		charts[pool] = &chart{
			title: fmt.Sprintf("Busy workers, %d of them, handlers of 10 ms", pool), unit: " %",
			under: "round trip",
		}
	}
	for _, handler := range handlers {
		fmt.Fprintf(&b, "#### Handlers of %v\n\n", handler)
		contenders := []consuming{fromHand, fromGoCloud, fromGodwit}
		if handler == 10*ms {
			contenders = consumers
		}
		head := []string{"workers", "round trip"}
		for _, c := range contenders {
			head = append(head, c.name)
		}
		var rows [][]string
		for _, pool := range pools {
			lines := make([]line, len(contenders))
			for _, trip := range trips {
				row := []string{strconv.Itoa(pool), trip.String()}
				for i, c := range contenders {
					f := consumeScene{trip: trip, handler: handler, workers: pool}.run(r.t, c)
					row = append(row, consumed(f, handler))
					lines[i].name, lines[i].values = c.name, append(lines[i].values, 100*f.busy)
				}
				rows = append(rows, row)
				if handler == 10*ms {
					charts[pool].at = append(charts[pool].at, trip.String())
				}
			}
			if handler == 10*ms {
				charts[pool].lines = lines
			}
		}
		b.WriteString(table(head, rows) + "\n\n")
		if handler == 10*ms {
			for _, pool := range pools {
				b.WriteString(r.draw(fmt.Sprintf("sqs-busy-%d", pool), charts[pool]) + "\n\n")
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// consumed formats a cell: rate, share of busy workers, and requests for each message.
func consumed(f figure, handler time.Duration) string {
	switch {
	case f.rate == 0:
		return fmt.Sprintf("– (%.2f)", f.requests)
	case handler == 0:
		return fmt.Sprintf("%.0f/s (%.2f)", f.rate, f.requests)
	}
	return fmt.Sprintf("%.0f/s, %.0f %% (%.2f)", f.rate, 100*f.busy, f.requests)
}

// Latency measures independent sends.
func (r *report) Latency() string {
	pairs := []struct {
		send    publishing
		receive consuming
	}{{byHand, fromHand}, {byWatermill, fromWatermill}, {byGoCloud, fromGoCloud}, {byGodwit, fromGodwit}}
	times := &chart{title: "From send to handler, p99, round trip 20 ms", unit: " ms", under: "messages a second"}
	costs := &chart{
		title: "Price of a million messages, round trip 20 ms", unit: " $", under: "messages a second",
		log: true,
	}
	var rows [][]string
	for _, pair := range pairs {
		took, cost := line{name: pair.receive.name}, line{name: pair.receive.name}
		for _, rate := range rates {
			f := latencyScene{trip: middle, rate: rate}.run(r.t, pair.send, pair.receive)
			dollars := f.requests * pricePerMillion
			rows = append(rows, []string{
				pair.receive.name, short(rate), inMS(f.p50), inMS(f.p99),
				fmt.Sprintf("%.2f", f.requests),
				fmt.Sprintf("$%.2f", dollars),
			})
			took.values, cost.values = append(took.values, float64(f.p99)/float64(ms)), append(cost.values, dollars)
		}
		times.lines, costs.lines = append(times.lines, took), append(costs.lines, cost)
	}
	for _, rate := range rates {
		times.at, costs.at = append(times.at, short(rate)), append(costs.at, short(rate))
	}
	head := []string{"", "messages a second", "p50", "p99", "requests a message", "a million messages"}
	return table(head, rows) + "\n\n" + r.draw("sqs-latency", times) + "\n\n" + r.draw("sqs-price", costs)
}

func inMS(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(ms)) }

// Saving measures what the options that save requests cost.
func (r *report) Saving() string {
	var rows [][]string
	for _, rate := range rates[1:] {
		for _, way := range []struct {
			name    string
			send    publishing
			receive consuming
		}{
			{"neither", byGodwit, fromGodwit},
			{"`SaveRequests`", byGodwit, fromSaving},
			{"`Linger` of 100 ms", byLinger, fromGodwit},
			{"both", byLinger, fromSaving},
		} {
			f := latencyScene{trip: middle, rate: rate}.run(r.t, way.send, way.receive)
			rows = append(rows, []string{
				short(rate), way.name, inMS(f.p50), inMS(f.p99), fmt.Sprintf("%.2f", f.requests),
				fmt.Sprintf("$%.2f", f.requests*pricePerMillion),
			})
		}
	}
	return table([]string{
		"messages a second", "option", "p50", "p99", "requests a message", "a million messages",
	}, rows)
}

// Idle measures consumers without messages.
func (r *report) Idle() string {
	var rows [][]string
	for _, c := range consumers {
		n := idle(r.t, c)
		rows = append(rows, []string{
			c.name, fmt.Sprintf("%.0f", n),
			fmt.Sprintf("$%.2f", n*60*24*30/1e6*pricePerMillion),
		})
	}
	return table([]string{"64 workers", "requests a minute", "a month"}, rows)
}

// FanOut measures one exchange with five queues.
func (r *report) FanOut() string {
	var rows [][]string
	sends := []publishing{byHand, byWatermill, byGoCloud, byGodwit}
	for _, trip := range trips[1:] {
		for i, c := range consumers {
			f := fanOut(r.t, trip, sends[i], c)
			rows = append(rows, []string{
				trip.String(), c.name, fmt.Sprintf("%.0f/s", f.rate),
				fmt.Sprintf("%.2f", f.requests),
			})
		}
	}
	return table([]string{"round trip", "", "messages sent, each handled five times", "requests for one of them"}, rows)
}

// FIFO measures queues that keep the order.
func (r *report) FIFO() string {
	var sent, handled [][]string
	for _, keys := range []int{1, 10, 1000} {
		for _, p := range []publishing{byHand, byWatermill, byGoCloud, byGodwit, bySharing} {
			f := publishScene{trip: middle, senders: 64, keys: keys}.run(r.t, p)
			sent = append(sent, []string{
				strconv.Itoa(keys), p.name, fmt.Sprintf("%.0f/s", f.rate),
				fmt.Sprintf("%.2f", f.requests),
			})
		}
		for _, c := range consumers {
			f := consumeScene{trip: middle, handler: 10 * ms, workers: 64, keys: keys}.run(r.t, c)
			handled = append(handled, []string{
				strconv.Itoa(keys), c.name, fmt.Sprintf("%.0f/s", f.rate),
				fmt.Sprintf("%.2f", f.requests),
			})
		}
	}
	return table([]string{"keys", "64 senders", "sent", "requests a message"}, sent) + "\n\n" +
		table([]string{"keys", "64 workers, handlers of 10 ms", "handled", "requests a message"}, handled)
}

// Backlog measures ordered backlogs with many messages of each key.
func (r *report) Backlog() string {
	var rows [][]string
	for _, s := range []consumeScene{{middle, 10 * ms, 64, 1000, 30}, {middle, 10 * ms, 64, 100, 300}} {
		for _, c := range []consuming{fromHand, fromGodwit} {
			f := s.run(r.t, c)
			rows = append(rows, []string{
				fmt.Sprintf("%d × %d", s.keys, s.each), c.name, consumed(f, s.handler),
			})
		}
	}
	head := []string{"keys × messages", "64 workers, handlers of 10 ms", "handled, busy (requests a message)"}
	return table(head, rows)
}

// Large measures large bodies in real time.
func (r *report) Large() string {
	var rows [][]string
	for _, l := range larges {
		runs := make([]largeFigure, *cpuRounds)
		for i := range runs {
			runs[i] = measureLarge(r.t, l, 40)
		}
		slices.SortFunc(runs, func(a, b largeFigure) int { return int(a.sent + a.handled - b.sent - b.handled) })
		f := runs[len(runs)/2]
		rows = append(rows, []string{l.name, inMS(f.sent), inMS(f.handled), fmt.Sprintf("%d MiB", f.heap>>20)})
	}
	return table([]string{"5 MiB", "CPU of a send", "CPU of a receive", "heap of the consumer"}, rows)
}

// CPU measures in real time.
func (r *report) CPU() string {
	var b strings.Builder
	for _, part := range []struct {
		what       string
		contenders []cpuContender
	}{{"sent", sendingCPU}, {"handled", consumingCPU}} {
		var rows [][]string
		figures := measureCPU(r.t, part.contenders, *cpuRounds, *cpuMessages)
		for i, f := range figures {
			base := figures[part.contenders[i].beside]
			rows = append(rows, []string{
				f.contender, fmt.Sprintf("%.1f µs", float64(f.cpu)/1e3),
				fmt.Sprintf("%.2f", f.share),
				fmt.Sprintf("%.0f", f.allocs), ratio(f.allocs, base.allocs), fmt.Sprintf("%.1f KB", f.bytes/1000),
			})
		}
		b.WriteString(table([]string{
			part.what, "CPU a message", "÷ the loop's", "allocations", "÷ the loop's",
			"bytes allocated",
		}, rows) + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

func ratio(a, b float64) string {
	if b == 0 || math.IsNaN(a/b) {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// Thresholds lists what TestThresholds asserts.
func (r *report) Thresholds() string {
	var rows [][]string
	for _, h := range thresholds {
		least, most := "", ""
		if h.least > 0 {
			least = short(h.least)
		}
		if h.most > 0 {
			most = short(h.most)
		}
		rows = append(rows, []string{h.what, least, most})
	}
	return table([]string{"figure", "at least", "at most"}, rows)
}
