package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/processes"
)

const (
	// lanesMost is how many running handlers the picture has.
	lanesMost = 60
	// tenantsMost is how many tenants the picture has.
	tenantsMost = 10
)

// workRow is a consumer of a process.
type workRow struct {
	ops.ConsumerWork
	Process, Href string
	Rate          float64
	P50, P95, P99 time.Duration // negative: unknown
}

// stuckRow is a handler that has used more than half of its time.
type stuckRow struct {
	ops.RunningHandler
	Channel, Process string
	Age              time.Duration
	Beyond           bool
	Message, Dead    string // where the message is, and where it will be if it dies
}

// workersData is what the page of workers shows.
type workersData struct {
	None     bool
	Problems []error
	Rows     []workRow
	Lanes    template.HTML
	Stuck    []stuckRow
	Running  int
	Left     int // handlers that are not in the picture
	Bodies   bool
}

// workersPage shows the running handlers of the processes that report.
func workersPage(r *request) (*view, error) {
	d := &workersData{None: r.c.processes.None(), Bodies: r.may >= LevelBodies}
	reported := r.c.processes.Ask(r.Context())
	d.Problems = reported.Problems
	lanes := chart.Lanes{Label: "running handlers by age against their timeout"}
	now := time.Now()
	for _, report := range reported.All {
		process := fmt.Sprintf("%s %d", report.Host, report.PID)
		for _, c := range report.Consumers {
			row := workRow{ConsumerWork: c, Process: process, Href: r.c.url("channel", c.Channel)}
			row.Rate, row.P50, row.P95, row.P99 = paceOf(c.Ends, now)
			d.Rows = append(d.Rows, row)
			for _, h := range c.Running {
				d.Running++
				age := max(0, now.Sub(h.Since))
				if c.Timeout > 0 && age > c.Timeout/2 {
					d.Stuck = append(d.Stuck, stuckRow{
						h, c.Channel, process, age, age > c.Timeout,
						r.c.url("channel", c.Channel, "messages", h.ID), r.c.url("channel", c.Channel+"@dlq", "dead"),
					})
				}
			}
		}
	}
	d.Left = drawLanes(&lanes, reported.All, now, d.Bodies)
	if len(lanes.Rows) > 0 {
		d.Lanes = forScreens(slimWidth, func(w int) template.HTML { lanes.Width = w; return lanes.SVG() })
	}
	slices.SortStableFunc(d.Stuck, func(a, b stuckRow) int { return cmp.Compare(b.Age, a.Age) })
	return &view{
		title: "Workers", name: "workers", nav: "workers", data: d, live: []string{"workers-state", "workers-list"},
	}, nil
}

// drawLanes adds a lane for each running handler, those that have used most of their time first. Keys may say who a
// message is about, so they are for those who may see messages.
func drawLanes(to *chart.Lanes, reports []ops.WorkersReport, now time.Time, keys bool) (left int) {
	for _, report := range reports {
		for _, c := range report.Consumers {
			for _, h := range c.Running {
				label := c.Channel
				if keys {
					label += " " + cmp.Or(h.OrderKey, h.Tenant, h.ID)
				}
				to.Rows = append(to.Rows, chart.Lane{Label: label, Age: max(0, now.Sub(h.Since)), Timeout: c.Timeout})
			}
		}
	}
	share := func(l chart.Lane) float64 { return l.Age.Seconds() / max(1, l.Timeout.Seconds()) }
	slices.SortStableFunc(to.Rows, func(a, b chart.Lane) int { return cmp.Compare(share(b), share(a)) })
	left = max(0, len(to.Rows)-lanesMost)
	to.Rows = to.Rows[:len(to.Rows)-left]
	return left
}

// paceOf returns handlers a second, and the times within which half, 95 and 99 percent of them ended.
func paceOf(ends []ops.HandlerEnd, now time.Time) (rate float64, p50, p95, p99 time.Duration) {
	if len(ends) == 0 {
		return -1, -1, -1, -1
	}
	took := make([]time.Duration, len(ends))
	for i := range ends {
		took[i] = ends[i].Took
	}
	slices.Sort(took)
	at := func(share float64) time.Duration { return took[int(share*float64(len(took)-1))] }
	over := max(time.Second, now.Sub(ends[0].At))
	return float64(len(ends)) / over.Seconds(), at(0.5), at(0.95), at(0.99)
}

// consumersOf returns what the consumers of a channel report; nil: no process reports any.
func consumersOf(ctx context.Context, p *processes.Processes, channel string) (all []ops.ConsumerWork) {
	if p.None() {
		return nil
	}
	for _, r := range p.Ask(ctx).All {
		for i := range r.Consumers {
			if r.Consumers[i].Channel == channel {
				all = append(all, r.Consumers[i])
			}
		}
	}
	return all
}

// endRates are how handlers of a channel have ended, a second, as the mean of the last minutes; negative: unknown.
type endRates struct{ all, done, retried, rejected float64 }

// endsOf counts how handlers have ended. Of a consumer that has forgotten some of the last minutes, only the time that
// it remembers counts.
func endsOf(consumers []ops.ConsumerWork, now time.Time) endRates {
	if consumers == nil {
		return endRates{-1, -1, -1, -1}
	}
	var sum endRates
	for i := range consumers {
		c, over := &consumers[i], flowOver
		if forgot := c.Handled+c.Retried+c.Rejected > int64(len(c.Ends)); forgot && len(c.Ends) > 0 {
			over = min(over, max(time.Second, now.Sub(c.Ends[0].At)))
		}
		for k := range c.Ends {
			if now.Sub(c.Ends[k].At) > over {
				continue
			}
			each := 1 / over.Seconds()
			sum.all += each
			switch c.Ends[k].Verdict {
			case "done", "drop":
				sum.done += each
			case "retry":
				sum.retried += each
			case "reject":
				sum.rejected += each
			}
		}
	}
	return sum
}

// handlerTimes draws the times of the handlers of a channel; "": no process reports them.
func handlerTimes(consumers []ops.ConsumerWork, at time.Time, step time.Duration, points int) template.HTML {
	if consumers == nil {
		return ""
	}
	took := make([][]time.Duration, points)
	for i := range consumers {
		for _, end := range consumers[i].Ends {
			if back := int(at.Sub(end.At) / step); back >= 0 && back < points {
				took[points-1-back] = append(took[points-1-back], end.Took)
			}
		}
	}
	c := chart.Lines{Label: "times of handlers", Step: step, End: at.UTC(), Width: 600, Unit: chart.Seconds}
	for _, s := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}} {
		values := make([]float64, points)
		for i := range took {
			if values[i] = math.NaN(); len(took[i]) > 0 {
				slices.Sort(took[i])
				values[i] = took[i][int(s.share*float64(len(took[i])-1))].Seconds()
			}
		}
		c.Series = append(c.Series, chart.Series{Name: s.name, Values: values})
	}
	return c.SVG()
}

// waitRow is a key or a channel that waits, and what blocks it.
type waitRow struct {
	Channel, Href, Process string
	Waiting, Lanes         int
	Blocked                time.Duration
	By                     []ops.RunningHandler
}

// tenantsData is what the page of tenants and keys shows.
type tenantsData struct {
	None     bool
	Problems []error
	Loudest  template.HTML
	Ends     int
	Waits    []waitRow
}

// tenantsPage shows the tenants and keys with most handler time, and what blocks those that wait.
func tenantsPage(r *request) (*view, error) {
	d := &tenantsData{None: r.c.processes.None()}
	reported := r.c.processes.Ask(r.Context())
	d.Problems = reported.Problems
	now := time.Now()
	type ofTenant struct{ channel, tenant string }
	spent := map[ofTenant]time.Duration{}
	for _, report := range reported.All {
		for _, c := range report.Consumers {
			d.Ends += len(c.Ends)
			times, _ := spentBy(&c, now)
			for name, took := range times {
				spent[ofTenant{c.Channel, name}] += took
			}
			row := waitRow{
				Channel: c.Channel, Href: r.c.url("channel", c.Channel),
				Process: fmt.Sprintf("%s %d", report.Host, report.PID),
				Waiting: c.Waiting, Lanes: c.Lanes, Blocked: c.Blocked,
			}
			for _, h := range c.Running {
				if h.OrderKey != "" && len(row.By) < 5 {
					row.By = append(row.By, h)
				}
			}
			if c.Blocked > 0 || c.Waiting > 0 {
				d.Waits = append(d.Waits, row)
			}
		}
	}
	slices.SortStableFunc(d.Waits, func(a, b waitRow) int { return cmp.Compare(b.Blocked, a.Blocked) })
	bars := chart.Bars{Label: "handler time by tenant or key", Unit: chart.Seconds}
	for name, took := range spent {
		bars.Rows = append(bars.Rows, chart.Bar{
			Label: name.channel + " " + name.tenant, Value: took.Seconds(),
			Href: tenantHref(r.c, name.channel, name.tenant),
		})
	}
	slices.SortFunc(bars.Rows, func(a, b chart.Bar) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Label, b.Label))
	})
	if bars.Rows = bars.Rows[:min(len(bars.Rows), tenantsMost)]; len(bars.Rows) > 0 {
		d.Loudest = forScreens(slimWidth, func(w int) template.HTML { bars.Width = w; return bars.SVG() })
	}
	return &view{
		title: "Tenants and keys", name: "tenants", nav: "tenants", data: d,
		live: []string{"tenants-state"},
	}, nil
}
