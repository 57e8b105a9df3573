package queue

// group is the line of a FIFO queue's messages of one MessageGroupId, in order.
// It is ready while none of its messages is in flight and its first is visible;
// a receive takes from the front and so locks it.
type group struct {
	name     string
	items    list[item]
	inFlight int
	ready    bool // in the queue's list of ready groups
	link     link[group]
}

func groupLink(g *group) *link[group] { return &g.link }

// groupOf finds or makes the group of a name.
func (q *Queue) groupOf(name string) *group {
	g := q.groups[name]
	if g == nil {
		g = &group{name: name, items: list[item]{link: orderOf}}
		q.groups[name] = g
	}
	return g
}

// settle puts a group where it belongs after anything in it changed.
func (q *Queue) settle(g *group) {
	head := g.items.head
	ready := head != nil && g.inFlight == 0 && head.state == Visible
	switch {
	case ready && !g.ready:
		q.readyGroups.pushBack(g)
		q.wake()
	case !ready && g.ready:
		q.readyGroups.remove(g)
	}
	g.ready = ready
	if head == nil {
		delete(q.groups, g.name)
	}
}
