package queue

// group is the line of a FIFO queue's messages of one MessageGroupId, in order.
// It is ready while its first message is visible: a receive takes from the
// front, and what is in flight there locks all behind it. A message that comes
// back frees the group again, for itself and those directly behind it that are
// visible too.
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
	ready := head != nil && head.state == Visible
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
