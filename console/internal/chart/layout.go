package chart

// A layout is the rows of the nodes of a map. A queue is as high as what only it leads to, an exchange is in the middle
// of its queues, and so no two nodes of a column meet.
type layout struct {
	at    []float64      // the row of each node; a middle between two rows has a half
	rows  int            // how many there are
	index map[string]int // the nodes by ID; the first of each
	links []Link         // those between nodes that exist
	out   [][]int        // the nodes that a node leads to

	nodes  []Node
	placed []bool
}

// arrange places nodes.
func arrange(nodes []Node, links []Link) *layout {
	l := &layout{
		at: make([]float64, len(nodes)), index: map[string]int{}, nodes: nodes, placed: make([]bool, len(nodes)),
		out: make([][]int, len(nodes)),
	}
	for i, n := range nodes {
		if _, twice := l.index[n.ID]; !twice {
			l.index[n.ID] = i
		}
	}
	for _, link := range links {
		from, ok := l.index[link.From]
		to, also := l.index[link.To]
		if ok && also {
			l.links = append(l.links, link)
			l.out[from] = append(l.out[from], to)
		}
	}
	for column := range 3 { // what nothing leads to is placed after the rest
		for i, n := range nodes {
			if n.Kind.column() == column && !l.placed[i] {
				l.place(i)
			}
		}
	}
	return l
}

// place gives a node, and what it leads to, the next rows.
func (l *layout) place(i int) {
	l.placed[i] = true
	first := l.rows
	for _, to := range l.out[i] {
		if !l.placed[to] && l.nodes[to].Kind.column() > l.nodes[i].Kind.column() {
			l.place(to)
		}
	}
	if l.rows == first {
		l.rows++
	}
	l.at[i] = float64(first+l.rows-1) / 2
}
