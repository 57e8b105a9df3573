package console

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// rowsMost is how many channels a page has.
const rowsMost = 100

// severity says how bad a row is.
type severity int

const (
	fine severity = iota
	warning
	critical
)

// trouble is something that somebody should look at.
type trouble struct {
	Severity severity
	Text     string
	Href     string // where it can be mended; "": on the page of the channel
}

// row is a channel in the list.
type row struct {
	Name, Href, Messages, Dead string
	Paused                     bool
	Exchange                   bool
	Strip, Spark               template.HTML
	Age                        string
	Tolerance                  string
	Waiting, InFlight, Delayed int64
	Letters                    int64
	Sent, Done                 float64
	Troubles                   []trouble
	Severity                   severity
	Bad                        bool // the age is beyond the tolerance
	BadLetters                 bool
	Expires                    bool // the service is about to delete messages

	over float64 // the age in tolerances
	old  time.Duration
	ch   driver.Channel
}

// Critical reports whether the row is critical, for the template.
func (one *row) Critical() bool { return one.Severity == critical }

// Warning reports whether the row is a warning, for the template.
func (one *row) Warning() bool { return one.Severity == warning }

// order is a way to sort the list.
type order struct {
	Key, Name string
	Number    bool // its column has numbers
	less      func(a, b *row) int
}

func orders() []order {
	return []order{
		{"problems", "Problems first", false, func(a, b *row) int {
			return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.over, a.over),
				cmp.Compare(b.Letters, a.Letters),
				cmp.Compare(b.Waiting, a.Waiting))
		}},
		{"name", "Channel", false, nil},
		{"age", "Oldest", false, func(a, b *row) int { return cmp.Compare(b.old, a.old) }},
		{"waiting", "Waiting", true, func(a, b *row) int { return cmp.Compare(b.Waiting, a.Waiting) }},
		{"flight", "In flight", true, func(a, b *row) int { return cmp.Compare(b.InFlight, a.InFlight) }},
		{"sent", "Sent/s", true, func(a, b *row) int { return cmp.Compare(b.Sent, a.Sent) }},
		{"done", "Done/s", true, func(a, b *row) int { return cmp.Compare(b.Done, a.Done) }},
		{"dead", "Dead letters", true, func(a, b *row) int { return cmp.Compare(b.Letters, a.Letters) }},
	}
}

// heading is a column of the list.
type heading struct {
	Name, Href string
	Here       bool
	Number     bool
}

// nowData is what the page Now shows.
type nowData struct {
	Looked                              bool
	At                                  time.Time
	Interval                            time.Duration
	Err, RatesErr, HistoryErr, PastErr  error
	Channels, Troubled, Critical        int
	Waiting, InFlight, Delayed, Letters int64
	Sent, Done                          float64
	Query, Sort                         string
	Sorts                               []heading
	Rows                                []row
	Matches                             int
	Page, Pages                         int
	Before, After                       string
	SortHref                            string
	Notices                             []trouble
}

// nowPage lists all channels.
func nowPage(r *request) (*view, error) {
	seen, changed := r.c.watch.last(r.Context())
	d := &nowData{Query: r.FormValue("q"), Sort: cmp.Or(r.FormValue("sort"), "problems")}
	by := orders()
	n := slices.IndexFunc(by, func(o order) bool { return o.Key == d.Sort })
	if n < 0 {
		return nil, bad(fmt.Sprintf("there is no order %q", chart.Plain(d.Sort, 40)))
	}
	page, err := strconv.Atoi(cmp.Or(r.FormValue("page"), "1"))
	if err != nil || page < 1 {
		return nil, bad(fmt.Sprintf("page %q is no number from 1 on", chart.Plain(r.FormValue("page"), 40)))
	}
	for _, o := range by {
		d.Sorts = append(d.Sorts, heading{o.Name, r.with("sort", o.Key), o.Key == d.Sort, o.Number})
	}
	v := &view{
		title: "Now", name: "now", nav: "now", live: []string{"now-state", "now-list"}, data: d,
		changed: changed,
	}
	if seen == nil {
		v.again = 2
		return v, nil
	}
	d.Looked, d.At, d.Interval, d.Err, d.RatesErr = true, seen.At, seen.Pace.Interval, seen.Err, seen.RatesErr
	d.HistoryErr, d.PastErr = seen.HistoryErr, seen.PastErr
	rows := rowsOf(r.c, seen)
	for i := range rows[:min(len(rows), rowsMost)] { // as many as a page draws: it reads the history
		rows[i].recall(r.c, seen.At)
	}
	d.sum(rows)
	d.Notices = notices(r, indexOf(seen), r.c.processes.Last())
	rows = slices.DeleteFunc(rows, func(one row) bool { return !matches(one.Name, d.Query) })
	d.Matches = len(rows)
	if less := by[n].less; less != nil {
		slices.SortStableFunc(rows, func(a, b row) int { return less(&a, &b) })
	}
	d.Pages = max(1, (len(rows)+rowsMost-1)/rowsMost)
	d.Page = min(page, d.Pages)
	rows = rows[(d.Page-1)*rowsMost : min(len(rows), d.Page*rowsMost)]
	if d.Page > 1 {
		d.Before = r.with("page", strconv.Itoa(d.Page-1))
	}
	if d.Page < d.Pages {
		d.After = r.with("page", strconv.Itoa(d.Page+1))
	}
	for i := range rows {
		rows[i].draw(r.c, seen.At, seen.Pace.Interval)
	}
	d.Rows = rows
	v.title = "Now"
	if d.Troubled > 0 {
		v.title = fmt.Sprintf("(%d) Now", d.Troubled)
	}
	return v, nil
}

// sum adds up all channels. A rate without figures is unknown.
func (d *nowData) sum(rows []row) {
	d.Sent, d.Done = -1, -1
	add := func(to *float64, v float64) {
		if v >= 0 {
			*to = max(0, *to) + v
		}
	}
	for i := range rows {
		one := &rows[i]
		d.Channels++
		d.Waiting += max(0, one.Waiting)
		d.InFlight += max(0, one.InFlight)
		d.Delayed += max(0, one.Delayed)
		d.Letters += max(0, one.Letters)
		add(&d.Sent, one.Sent)
		add(&d.Done, one.Done)
		if one.Severity > fine {
			d.Troubled++
		}
		if one.Severity == critical {
			d.Critical++
		}
	}
}

// matches reports whether a name has all words.
func matches(name, words string) bool {
	name = strings.ToLower(name)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(name, word) {
			return false
		}
	}
	return true
}

// rowsOf makes a row of each queue, by name. Dead letters are part of their queue's row, unless there is none.
func rowsOf(c *Console, v *ops.View) []row {
	seen := indexOf(v)
	var rows []row
	for i := range v.Channels {
		w := &v.Channels[i]
		ch := w.Channel
		switch ch.Role() {
		case driver.RoleExchange:
			continue
		case driver.RoleDeadLetters:
			if ch.DeadLetter = false; seen[ch] != nil {
				continue
			}
		}
		rows = append(rows, newRow(c, w, seen))
	}
	return rows
}

// newRow makes a row without its pictures.
func newRow(c *Console, w *ops.Watched, seen index) row {
	name := w.Channel.String()
	paused := c.pauses.now(name, w.Paused)
	one := row{
		Name: name, Href: c.url("channel", name), Messages: c.url("channel", name, "messages"),
		Dead: c.url("channel", letters(w.Channel).String(), "dead"), Paused: paused, Age: span(w.Oldest),
		Waiting: w.Waiting, InFlight: w.InFlight, Delayed: w.Delayed, Letters: w.DeadLetters, Sent: w.Sent,
		Done: w.Done,
		old:  w.Oldest, ch: w.Channel,
	}
	t := ops.ThresholdsOf(&w.ChannelInfo)
	if t.Age > 0 {
		one.Tolerance = span(t.Age)
		one.over = max(0, w.Oldest.Seconds()) / t.Age.Seconds()
	}
	if w.Waiting == 0 && w.Oldest < 0 && w.Err == nil {
		one.Age, one.old = "0 s", 0
	}
	letterLimit := int64(ops.DefaultAlarmDeadLetters)
	if w.Channel.DeadLetter {
		one.Letters, one.Waiting, one.InFlight, letterLimit = w.Waiting+w.InFlight+w.Delayed, 0, 0, t.DeadLetters
	}
	if w.Err != nil {
		one.Waiting, one.InFlight, one.Delayed = -1, -1, -1
		one.is(critical, "", "it could not be looked at: %s", chart.Plain(w.Err.Error(), 200))
	}
	if one.over > 1 {
		one.Bad = true
		one.is(critical, one.Messages, "the oldest message waits for %s, and %s are tolerated", span(w.Oldest),
			span(t.Age))
	}
	if letterLimit > 0 && one.Letters >= letterLimit {
		one.BadLetters = true
		one.is(critical, one.Dead, "%s", plural(one.Letters, "dead letter"))
	}
	if t.Depth > 0 && one.Waiting >= t.Depth {
		one.is(warning, one.Messages, "%s wait, and the limit is %s", plural(one.Waiting, "message"), count(t.Depth))
	}
	if paused {
		one.is(warning, "", "it is paused")
	} else if one.Waiting > 0 && one.InFlight == 0 && w.Done == 0 && one.over > 0.5 {
		one.is(warning, "", "nothing is handled")
	}
	for _, wrong := range t.Wrong {
		one.is(warning, "", "%s", wrong)
	}
	one.foresee(c, w, seen)
	return one
}

// is adds a trouble, and where it can be mended.
func (one *row) is(s severity, href, format string, args ...any) {
	one.Troubles = append(one.Troubles, trouble{s, fmt.Sprintf(format, args...), href})
	one.Severity = max(one.Severity, s)
}

// recall fills in rates that the last look has not.
func (one *row) recall(c *Console, at time.Time) {
	if one.Sent < 0 || one.Done < 0 {
		one.Sent, one.Done = lately(c.watch.sampler.History(one.ch), at, one.Sent, one.Done)
	}
}

// draw makes the pictures of a row.
func (one *row) draw(c *Console, at time.Time, interval time.Duration) {
	limit := time.Duration(0)
	if one.over > 0 && one.old > 0 {
		limit = time.Duration(float64(one.old) / one.over)
	}
	if one.Tolerance != "" && limit == 0 {
		limit = ops.DefaultAlarmAge
	}
	if one.old == 0 {
		limit = max(limit, time.Second)
	}
	one.Strip = chart.Strip{Label: one.Name, Age: one.old, Tolerance: limit}.SVG()
	step, points := grain(time.Hour, 60, interval)
	one.recall(c, at)
	waits := steps(c.watch.sampler.History(one.ch), at, step, points,
		func(s *ops.Sample) float64 { return float64(s.Waiting) })
	one.Spark = chart.Sparkline{
		Label: one.Name + ", waiting in the last hour", Values: waits, Step: step,
		End: at,
	}.SVG()
}

// grain returns the step of a chart over a time, of which it has at most so many. A step has at least two looks, so
// that no step is empty because a look was a little late.
func grain(over time.Duration, most int, interval time.Duration) (step time.Duration, n int) {
	step = max(over/time.Duration(most), 2*interval)
	return step, max(1, int(over/step))
}

// steps puts samples into steps of time that end at a time: the largest value of each, or NaN.
func steps(samples []ops.Sample, end time.Time, step time.Duration, n int,
	value func(s *ops.Sample) float64,
) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
	}
	for i := range samples {
		back := int(end.Sub(samples[i].At) / step)
		if back < 0 || back >= n {
			continue
		}
		v := value(&samples[i])
		if to := &values[n-1-back]; v >= 0 && (math.IsNaN(*to) || v > *to) {
			*to = v
		}
	}
	return values
}

// flowOver is the time over which rates are averaged where the last look has none yet.
const flowOver = 5 * time.Minute

// lately returns rates, or where they are unknown their means of the last minutes, as a restart has kept them.
func lately(samples []ops.Sample, at time.Time, sent, done float64) (float64, float64) {
	mean := func(now float64, value func(s *ops.Sample) float64) float64 {
		if now >= 0 {
			return now
		}
		sum, n := 0.0, 0
		for i := len(samples) - 1; i >= 0 && at.Sub(samples[i].At) <= flowOver; i-- {
			if v := value(&samples[i]); v >= 0 {
				sum += v
				n++
			}
		}
		if n == 0 {
			return -1
		}
		return sum / float64(n)
	}
	return mean(sent, func(s *ops.Sample) float64 { return s.Sent }),
		mean(done, func(s *ops.Sample) float64 { return s.Done })
}
