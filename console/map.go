package console

import (
	"fmt"
	"html/template"

	"github.com/godwitmq/godwit/console/internal/chart"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// mapMost is how many queues the map has: more cannot be read.
const mapMost = 60

// mapData is what the map shows.
type mapData struct {
	Looked bool
	Map    template.HTML
	Left   int // queues that are not in the map
	Err    error
	Query  string
	None   bool
}

// mapPage draws exchanges, queues, consumers and dead letters, with their rates.
func mapPage(r *request) (*view, error) {
	seen, changed := r.c.watch.last(r.Context())
	d := &mapData{Query: r.FormValue("q")}
	v := &view{title: "Map", name: "map", nav: "map", data: d, changed: changed, live: []string{"map-picture"}}
	if seen == nil {
		v.again = 2
		return v, nil
	}
	d.Looked = true
	settings, err := r.c.estate.survey(r.Context(), r.c.b, seen)
	if err != nil {
		settings = &surveyed{Err: err}
	}
	d.Err = settings.Err
	m := mapped{
		c: r.c, seen: seen, known: indexOf(seen), settings: settings,
		chart: chart.Map{Label: "the way of messages"},
	}
	for i := range seen.Channels {
		w := &seen.Channels[i]
		if w.Channel.Role() != driver.RoleQueue || !matches(w.Channel.String(), d.Query) {
			continue
		}
		if m.queues == mapMost {
			d.Left++
			continue
		}
		m.add(w)
	}
	if d.None = m.queues == 0; !d.None {
		d.Map = forScreens(slimMap, func(w int) template.HTML { m.chart.Width = w; return m.chart.SVG() })
	}
	return v, nil
}

// mapped is a map that grows.
type mapped struct {
	c        *Console
	seen     *ops.View
	known    index
	settings *surveyed
	chart    chart.Map
	queues   int
	drawn    map[string]bool // exchanges
}

// add adds a queue, with what belongs to it.
func (m *mapped) add(w *ops.Watched) {
	m.queues++
	name := w.Channel.String()
	recent := *w
	recent.Sent, recent.Done = lately(m.c.watch.sampler.History(w.Channel), m.seen.At, w.Sent, w.Done)
	w = &recent
	one := newRow(m.c, w, m.known)
	class := ""
	if one.Bad {
		class = "c-bad"
	} else if one.Severity == warning {
		class = "c-warn"
	}
	m.chart.Nodes = append(m.chart.Nodes, chart.Node{
		ID: name, Kind: chart.Queue, Label: name, Detail: count(one.Waiting), Class: class, Href: one.Href,
	})
	if w.Channel.Exchange != "" {
		m.feed(w, name)
	}
	if w.InFlight > 0 || w.Done > 0 {
		m.chart.Nodes = append(m.chart.Nodes, chart.Node{
			ID: name + " handled", Kind: chart.Consumer, Label: "consumers", Detail: count(w.InFlight),
			Href: one.Href,
		})
		m.chart.Links = append(m.chart.Links, chart.Link{From: name, To: name + " handled", Rate: w.Done})
	}
	if w.DeadLetters > 0 {
		m.chart.Nodes = append(m.chart.Nodes, chart.Node{
			ID: name + " dead", Kind: chart.DeadLetters, Label: "dead letters", Detail: count(w.DeadLetters),
			Class: "c-bad",
			Href:  one.Dead,
		})
		rate := -1.0
		if letters := m.known[letters(w.Channel)]; letters != nil {
			rate = letters.Sent
		}
		m.chart.Links = append(m.chart.Links, chart.Link{From: name, To: name + " dead", Rate: rate})
	}
}

// feed links a queue with its exchange. A filter lets nothing through if the exchange gets messages and the queue none.
func (m *mapped) feed(w *ops.Watched, name string) {
	exchange := driver.Channel{Exchange: w.Channel.Exchange}.String()
	above := m.known[driver.Channel{Exchange: w.Channel.Exchange, Ordered: w.Channel.Ordered}]
	if !m.drawn[exchange] {
		if m.drawn == nil {
			m.drawn = map[string]bool{}
		}
		m.drawn[exchange] = true
		n := chart.Node{
			ID: exchange, Kind: chart.Exchange, Label: w.Channel.Exchange,
			Href: m.c.url("channel", exchange),
		}
		if above != nil && above.Sent >= 0 {
			n.Detail = rate(above.Sent) + "/s"
		}
		m.chart.Nodes = append(m.chart.Nodes, n)
	}
	l := chart.Link{From: exchange, To: name, Rate: w.Sent}
	if c := m.settings.All[name]; c != nil && filterOf(c) != "" {
		l.Filter = filterWords(filterOf(c))
	}
	_, l.Blocked = m.settings.shut(w)
	if above != nil && above.Sent > 0 && w.Sent == 0 && l.Filter != "" {
		l.Blocked = true
	}
	m.chart.Links = append(m.chart.Links, l)
}

// LeftText says how many queues are not in the map.
func (d *mapData) LeftText() string {
	return fmt.Sprintf("%s not in the map: narrow it by words of their names.", plural(int64(d.Left), "queue"))
}
