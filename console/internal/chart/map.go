package chart

import (
	"html/template"
	"strconv"
)

// Map draws exchanges on the left, queues in the middle, and consumers and dead letters on the right, with a link for
// each way of messages. The width of a link is its rate. The order of the nodes is kept as far as the links permit.
type Map struct {
	Label string
	Nodes []Node
	Links []Link
	Width int // in pixels; 0: 900
}

// A Kind says what a node of a [Map] is, and so its column.
type Kind int

// The kinds of nodes.
const (
	Exchange Kind = iota
	Queue
	Consumer
	DeadLetters
)

// A Node is a box of a [Map].
type Node struct {
	ID     string // what links name; it is not shown
	Kind   Kind
	Label  string
	Detail string // a number beside the label; "": none
	Class  string // the color of a state, such as c-bad; "": none
	Href   string // where the box leads; "": nowhere
}

// A Link is a way of messages between two nodes. A link to or from a node that does not exist is left out.
type Link struct {
	From, To string  // the IDs of nodes
	Rate     float64 // messages a second
	Filter   string  // what the link lets through; "": everything
	Blocked  bool    // the filter lets nothing through: the link is grey
}

// Sizes of Map, in pixels.
const (
	mapWidth, narrowestMap = 900, 600
	mostNodes              = 400
	boxShare, gapShare     = 0.22, 0.22 // of the width: a node, and the left gap, where the filters are
	nodeHeight, nodeRow    = 24, 34
	nodeMargin             = 5
)

// SVG returns the chart.
func (c Map) SVG() template.HTML {
	nodes := c.Nodes[:min(len(c.Nodes), mostNodes)]
	l := arrange(nodes, c.Links)
	w := max(width(c.Width, mapWidth), narrowestMap)
	links := false
	for _, n := range nodes {
		links = links || local(n.Href)
	}
	h := max(l.rows, 1) * nodeRow
	if len(nodes) < len(c.Nodes) {
		h += 20
	}
	m := network{
		flow: flow{drawing: begin("c-map", c.Label, w, h, links)}, layout: l, nodes: nodes, w: float64(w),
	}
	m.box, m.gap = float64(w)*boxShare, float64(w)*gapShare
	for _, link := range l.links {
		if known(link.Rate) {
			m.high = max(m.high, link.Rate)
		}
	}
	for _, link := range l.links {
		m.join(link)
	}
	for _, link := range l.links {
		m.says(link)
	}
	for i := range nodes {
		m.node(i)
	}
	if len(nodes) == 0 {
		m.text("c-text c-name", 0, 20, after, "none")
	}
	if rest := len(c.Nodes) - len(nodes); rest > 0 {
		m.text("c-text c-name", 0, float64(h)-6, after, "and "+strconv.Itoa(rest)+" more")
	}
	return m.end()
}

// A network is a drawing of nodes at their places.
type network struct {
	flow
	*layout
	nodes    []Node
	w        float64
	box, gap float64 // the widths of a node, and of the space between the left and the middle column
}

// left is the x of the left edge of a node.
func (m *network) left(i int) float64 {
	return [...]float64{0, m.box + m.gap, m.w - m.box}[m.nodes[i].Kind.column()]
}

// middle is the y of the middle of a node.
func (m *network) middle(i int) float64 { return m.at[i]*nodeRow + nodeMargin + nodeHeight/2 }

// join draws a link.
func (m *network) join(link Link) {
	from, to := m.index[link.From], m.index[link.To]
	x1, y1, x2, y2 := m.left(from)+m.box, m.middle(from), m.left(to), m.middle(to)
	if x2 < x1 { // to the left, or within a column: around the end of the box
		x2 = m.left(to) + m.box
	}
	class := state(link.Rate, "c-plain")
	if link.Blocked {
		class = "c-blocked"
	}
	bend := max((x2-x1)/2, 30)
	p := path(nil).move(x1, y1).to('C', x1+bend, y1, x2-bend, y2, x2, y2)
	if x2 <= x1 {
		p = path(nil).move(x1, y1).to('C', x1+bend, y1, x2+bend, y2, x2, y2)
	}
	says := m.nodes[from].Label + " → " + m.nodes[to].Label + ": " + Rate.format(link.Rate)
	if link.Filter != "" {
		says += ", filter " + link.Filter
	}
	if link.Blocked {
		says += ", which lets nothing through"
	}
	m.wide("c-link "+class, p, m.weight(link), says)
}

// weight is the width of a link.
func (m *network) weight(link Link) float64 { return 1 + (m.thickness(link.Rate)-1)*0.7 }

// says writes the filter and the rate of a link before its end.
func (m *network) says(link Link) {
	to := m.index[link.To]
	if m.left(to) <= m.left(m.index[link.From]) {
		return
	}
	says := Rate.format(link.Rate)
	if link.Filter != "" {
		says = fit(link.Filter, m.gap-extent(says)-26) + " · " + says
	} else if known(link.Rate) && link.Rate == 0 {
		return
	}
	m.text("c-text c-name c-halo", m.left(to)-6, m.middle(to)-3-m.weight(link)/2, before, says)
}

// node draws a box.
func (m *network) node(i int) {
	n := m.nodes[i]
	class := "c-box " + n.Kind.class()
	if n.Class != "" {
		class += " " + n.Class
	}
	at := box{m.left(i), m.middle(i) - nodeHeight/2, m.box, nodeHeight}
	end := m.link(n.Href)
	says := n.Label
	if n.Detail != "" {
		says += ": " + n.Detail
	}
	m.rect(class, at, 4, says)
	detail := fit(n.Detail, m.box/2)
	m.text("c-text", at.x+8, at.y+16, after, fit(n.Label, m.box-22-1.3*extent(detail)))
	if detail != "" {
		m.text("c-text c-number", at.x+m.box-8, at.y+16, before, detail)
	}
	end()
}

func (k Kind) class() string {
	switch k {
	case Exchange:
		return "c-exchange"
	case Queue:
		return "c-queue"
	case DeadLetters:
		return "c-dead"
	default:
		return "c-consumer"
	}
}

// column is where a kind is drawn.
func (k Kind) column() int {
	switch k {
	case Exchange:
		return 0
	case Queue:
		return 1
	default:
		return 2
	}
}
