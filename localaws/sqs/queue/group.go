package queue

// group holds the messages of one MessageGroupId of a FIFO queue, in order. It is ready while its first message is
// visible: a receive takes from the front, and a message in flight locks all messages behind it. A message that becomes
// visible again unlocks the group for itself and for the visible messages directly behind it.
type group struct {
	name     string
	items    list[item]
	inFlight int
	ready    bool // in the queue's list of ready groups
	link     link[group]
}

func groupLink(g *group) *link[group] { return &g.link }

// groupOf returns the group with a name, and creates it if necessary.
func (q *Queue) groupOf(name string) *group {
	g := q.groups[name]
	if g == nil {
		g = &group{name: name, items: list[item]{link: orderOf}}
		q.groups[name] = g
	}
	return g
}

// flight changes the number of a group's messages in flight.
func (q *Queue) flight(g *group, by int) {
	was := g.inFlight > 0
	g.inFlight += by
	switch is := g.inFlight > 0; {
	case is && !was:
		q.locked++
	case was && !is:
		q.locked--
	}
}

// settle updates the group's place in the list of ready groups after a change in the group.
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
