package console

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/console/internal/filter"
	"github.com/godwitmq/godwit/ops"
)

const (
	// heatSteps is how many steps of time the heat map has, and heatRows how many groups.
	heatSteps = 48
	heatRows  = 14
	// listMost is how many messages a list shows.
	listMost = 25
)

// lookData is what pages share that look at messages.
type lookData struct {
	Tabs        *tabs
	Name        string
	Filter      string
	Scan        *scan
	MustReceive bool // the service can only receive, and nobody has allowed it
	Look        string
	Here        string
	Bodies, May bool
	Expressions bool
	More        []link
	List        []listed
	Stale       time.Duration // how old the look is, if that matters; 0: it does not
	Fields      *fieldsHelp
	Plan        string // where actions are planned
	Selected    bool
	IsQueue     bool // the channel is no dead letters
}

// link is an address with its text.
type link struct{ Href, Text string }

// listed is a message of a list.
type listed struct {
	found
	Href, GroupHref string
}

// fieldsHelp is what a page says about filters.
type fieldsHelp struct{ Expressions bool }

// look makes the part that pages share.
func (r *request) look(seen *ops.View, here string) (*lookData, error) {
	c, name := r.c, r.PathValue("name")
	d := &lookData{
		Tabs: tabsOf(c, name, here, seen), Name: name, Filter: strings.TrimSpace(r.FormValue("filter")),
		Look: c.url("channel", name, "look"), Here: r.URL.RequestURI(), Bodies: r.may >= LevelBodies,
		May: r.may >= LevelAct, Expressions: c.o.Expression != nil, Fields: &fieldsHelp{c.o.Expression != nil},
		Plan: c.url("channel", name, "plan"), IsQueue: !strings.HasSuffix(name, "@dlq"),
	}
	d.Selected = d.Filter != ""
	w, err := r.want(name, d.Filter)
	if err != nil {
		return nil, err
	}
	d.Scan, err = c.scans.look(r.Context(), w)
	if errors.Is(err, ops.ErrMustReceive) {
		d.MustReceive = true
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if d.Scan.Received || d.Scan.Err != nil {
		d.Stale = time.Since(d.Scan.At)
	}
	for i := range d.Scan.Found {
		f := &d.Scan.Found[i]
		if i == listMost {
			break
		}
		one := listed{found: *f, Href: c.url("channel", name, "messages", f.ID)}
		one.GroupHref = r.with("filter", "group:"+f.Group)
		if !d.Bodies {
			one.Error, one.Glimpse = "", ""
		}
		d.List = append(d.List, one)
	}
	if !d.Scan.Complete && !d.Scan.Received {
		for _, n := range []int{10_000, lookMost} {
			if n > d.Scan.Budget {
				d.More = append(d.More, link{r.with("look", strconv.Itoa(n)), "look at " + count(int64(n))})
			}
		}
	}
	return d, nil
}

// want reads what a look is asked for.
func (r *request) want(name, text string) (*want, error) {
	w := &want{channel: name, budget: lookUsual, mask: &r.c.o.Mask}
	if n, err := strconv.Atoi(r.FormValue("look")); err == nil && n > 0 {
		w.budget = min(n, lookMost)
	}
	if text == "" {
		return w, nil
	}
	f, err := r.filter(text)
	if err != nil {
		return nil, err
	}
	if !f.All {
		w.filter = f
	}
	return w, nil
}

// filter reads a filter, and refuses what the person may not ask: a filter tells what it looks at.
func (r *request) filter(text string) (*filter.Filter, error) {
	var jq filter.Expression
	if compile := r.c.o.Expression; compile != nil {
		jq = func(text string) (func([]byte) (bool, error), error) {
			e, err := compile(text)
			if err != nil {
				return nil, err
			}
			return e.Selects, nil
		}
	}
	f, err := filter.Parse(text, jq)
	if err != nil {
		return nil, err
	}
	forbidden := func(what string) error {
		return &problem{status: http.StatusForbidden, title: "That filter is not for you", err: errors.New(what)}
	}
	looks := f.Bodies || len(f.Headers) > 0 || len(f.Selection.Keys) > 0 || f.Selection.Error != ""
	if looks && r.may < LevelBodies {
		return nil, forbidden("your level is figures, and the filter looks at errors, keys, headers or bodies")
	}
	if f.Bodies && len(r.c.o.Mask.Paths) > 0 {
		return nil, forbidden("parts of bodies are hidden here, so filters cannot look at bodies")
	}
	for _, name := range f.Headers {
		if r.c.o.Mask.header(name, "") == hidden {
			return nil, forbidden(fmt.Sprintf("the header %s is hidden here, so filters cannot look at it",
				chart.Plain(name, 80)))
		}
	}
	return f, nil
}

// lookAction receives messages of a channel to look at them, where the service has no other way.
func lookAction(r *request) (string, error) {
	name := r.PathValue("name")
	w, err := r.want(name, strings.TrimSpace(r.FormValue("filter")))
	if err != nil {
		return "", err
	}
	w.receive = true
	err = r.c.change(r, "look by receiving", name, r.FormValue("filter"), func() error {
		_, err := r.c.scans.look(r.Context(), w)
		return err
	})
	return r.back(r.c.url("channel", name, "messages")), err
}

// back returns where a form came from, if that is a page of the console.
func (r *request) back(instead string) string {
	to := r.FormValue("back")
	if !strings.HasPrefix(to, r.c.o.Path+"/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
		return instead
	}
	return to
}

// groupRow is a group of dead letters.
type groupRow struct {
	ops.Group
	Undated  bool
	Href     string
	Selected bool
	Share    int64 // percent of all
}

// deadData is what the page of dead letters shows.
type deadData struct {
	*lookData
	Heat   template.HTML
	Groups []groupRow
	Rest   int    // groups that are not in the list
	All    string // the page without a filter
}

// deadPage shows the dead letters of a channel, by group and time.
func deadPage(r *request) (*view, error) {
	name := r.PathValue("name")
	seen, _ := r.c.watch.last(r.Context())
	l, err := r.look(seen, "dead")
	if err != nil {
		return nil, err
	}
	d := &deadData{lookData: l, All: r.with("filter", "")}
	if l.Scan != nil {
		d.groups(r)
	}
	return &view{
		title: name, name: "dead", nav: "now", data: d, live: []string{
			"dead-state", "dead-heat", "dead-groups",
			"dead-list",
		},
	}, nil
}

// groups draws the heat map, and lists the groups. They are of the whole look, so that a selection can be
// changed; where a filter does more than select a group or a block, they are those that match.
func (d *deadData) groups(r *request) {
	shown := d.Scan
	f := d.Scan.Filter
	if f != nil {
		all, err := r.c.scans.look(r.Context(), &want{channel: d.Name, budget: d.Scan.Budget, mask: &r.c.o.Mask})
		if err == nil && onlyBlock(f) {
			shown = all
		}
	}
	for i := range shown.Groups {
		if i == heatRows {
			d.Rest = len(shown.Groups) - heatRows
			break
		}
		g := &shown.Groups[i]
		one := groupRow{
			Group: g.Group, Undated: g.Undated, Href: r.with("filter", "group:"+g.ID),
			Share: percent(int64(g.Count), int64(shown.Matched)),
		}
		one.Selected = f != nil && f.Selection.Group == g.ID
		if !d.Bodies {
			one.Error = ""
		}
		d.Groups = append(d.Groups, one)
	}
	d.Heat = heat(r, shown, f)
}

// onlyBlock reports whether a filter selects a group, or a block of time, and nothing else.
func onlyBlock(f *filter.Filter) bool {
	s := f.Selection
	s.Group, s.DiedFrom, s.DiedTo = "", time.Time{}, time.Time{}
	return s.IsZero()
}

// heat draws groups by time.
func heat(r *request, s *scan, f *filter.Filter) template.HTML {
	if s.Matched == 0 {
		return ""
	}
	first := s.At
	for i := range s.Groups {
		if s.Groups[i].First.Before(first) {
			first = s.Groups[i].First
		}
	}
	step := heatStep(s.At.Sub(first))
	end := s.At.Truncate(step).Add(step)
	begin := end.Add(-heatSteps * step)
	h := chart.HeatMap{Label: "dead letters by error and time", Step: step, End: end.UTC(), Width: 1180}
	for i := range s.Groups {
		if i == heatRows {
			break
		}
		g := &s.Groups[i]
		cells := make([]chart.HeatCell, heatSteps)
		for _, died := range g.died {
			if n := int(time.Unix(died, 0).Sub(begin) / step); n >= 0 && n < heatSteps {
				cells[n].Count++
			}
		}
		for n := range cells {
			from := begin.Add(time.Duration(n) * step)
			to := from.Add(step)
			cells[n].Href = r.with("filter", fmt.Sprintf("group:%s from:%s to:%s", g.ID,
				from.UTC().Format(time.RFC3339),
				to.UTC().Format(time.RFC3339)))
			if f != nil {
				sel := &f.Selection
				cells[n].Selected = sel.Group == g.ID && !sel.DiedFrom.After(from) &&
					(sel.DiedTo.IsZero() || !to.After(sel.DiedTo))
			}
		}
		h.Rows = append(h.Rows, chart.HeatRow{
			Label: groupName(g), Href: r.with("filter", "group:"+g.ID),
			Cells: cells,
		})
	}
	return h.SVG()
}

// heatStep is the step of a heat map that shows a time.
func heatStep(d time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour,
		2 * time.Hour, 4 * time.Hour, 6 * time.Hour,
	} {
		if step*(heatSteps-1) >= d {
			return step
		}
	}
	return 12 * time.Hour
}

// groupName is a group in a few words.
func groupName(g *group) string {
	name := g.Shape
	if name == "" {
		name = "no reason"
	}
	if g.Kind != "" {
		name = g.Kind + ": " + name
	}
	if g.Undated {
		name += ", by the time sent"
	}
	return name
}

// messagesData is what the page of messages shows.
type messagesData struct {
	*lookData
	Dots template.HTML
}

// messagesPage shows the messages of a channel.
func messagesPage(r *request) (*view, error) {
	seen, _ := r.c.watch.last(r.Context())
	l, err := r.look(seen, "messages")
	if err != nil {
		return nil, err
	}
	d := &messagesData{lookData: l}
	if l.Scan != nil && len(l.Scan.Found) > 0 {
		to := l.Scan.At.UTC()
		dots := chart.Dots{Label: "messages by time and attempts", From: to.Add(-time.Minute), To: to, Width: 1180}
		for i := range l.Scan.Found {
			f := &l.Scan.Found[i]
			if f.Sent.Before(dots.From) {
				dots.From = f.Sent.UTC()
			}
			dots.Dots = append(dots.Dots, chart.Dot{
				Label: f.ID, At: f.Sent.UTC(), Attempts: int(f.Attempts),
				Href: r.c.url("channel", l.Name, "messages", f.ID),
			})
		}
		d.Dots = dots.SVG()
	}
	return &view{
		title: l.Name + " messages", name: "messages", nav: "now", data: d,
		live: []string{"messages-state", "messages-list"},
	}, nil
}
