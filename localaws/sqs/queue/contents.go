package queue

import "time"

// contents are the items of a queue: all of them, and by what they wait for. The queue's lock guards them.
type contents struct {
	polls
	items  table  // by key, which is the order of arrival
	ready  ready  // of a standard queue
	timed  heap   // delayed and in-flight items, by due time
	aged   heap   // by sent; items that are older than their neighbours in order of arrival
	counts [3]int // by State

	groups      map[string]*group // of a FIFO queue; nil: it is a standard queue
	locked      int               // groups with messages in flight
	readyGroups list[group]
}

func newContents(fifo bool) contents {
	c := contents{
		polls: newPolls(fifo), items: newTable(1), ready: newReady(), timed: dueHeap(), aged: ageHeap(),
		readyGroups: list[group]{link: groupLink},
	}
	if fifo {
		c.groups = map[string]*group{}
	}
	return c
}

// setState sets an item's state and updates the counts.
func (c *contents) setState(it *item, s State) {
	c.counts[it.state]--
	it.state = s
	c.counts[s]++
}

// makeReady makes an item visible that is in no heap.
func (c *contents) makeReady(it *item) {
	was := it.state
	c.setState(it, Visible)
	if g := it.group; g != nil {
		if was == InFlight {
			c.flight(g, -1)
		}
		c.settle(g)
		return
	}
	if was == InFlight {
		c.ready.putBack(it)
	} else {
		c.ready.push(it)
	}
	c.wake()
}

// hold puts an item into the heap until due: delayed or in flight.
func (c *contents) hold(it *item, s State, due time.Duration) {
	c.setState(it, s)
	it.due = due
	c.timed.push(it)
}

// rehold changes the end of an item's visibility timeout.
func (c *contents) rehold(it *item, d, now time.Duration) {
	it.past.newest().changed = true
	switch {
	case it.state == InFlight && d == 0:
		c.timed.remove(it)
		c.makeReady(it)
	case it.state == InFlight:
		c.timed.remove(it)
		it.due = now + d
		c.timed.push(it)
	case d > 0:
		c.ready.remove(it)
		c.hold(it, InFlight, now+d)
	}
}

// remove removes an item.
func (c *contents) remove(it *item) {
	c.items.remove(it.key)
	c.counts[it.state]--
	if it.state != Visible && it.timedAt > 0 {
		c.timed.remove(it)
	}
	if it.agedAt > 0 {
		c.aged.remove(it)
	}
	if g := it.group; g != nil {
		g.items.remove(it)
		if it.state == InFlight {
			c.flight(g, -1)
		}
		c.settle(g)
	} else if it.state == Visible {
		c.ready.remove(it)
	}
}

// next returns the message that a receive would take first.
func (c *contents) next() *item {
	if c.groups != nil {
		if g := c.readyGroups.head; g != nil {
			return g.items.head
		}
		return nil
	}
	return c.ready.head()
}

// oldest returns the item that was sent first, or nil.
func (c *contents) oldest() *item {
	oldest := c.items.head()
	if a := c.aged.top(); a != nil && (oldest == nil || a.sent < oldest.sent) {
		oldest = a
	}
	return oldest
}

// groupOf returns the group with a name, and creates it if necessary.
func (c *contents) groupOf(name string) *group {
	g := c.groups[name]
	if g == nil {
		g = &group{name: name, items: list[item]{link: orderOf}}
		c.groups[name] = g
	}
	return g
}

// flight changes the number of a group's messages in flight.
func (c *contents) flight(g *group, by int) {
	was := g.inFlight > 0
	g.inFlight += by
	switch is := g.inFlight > 0; {
	case is && !was:
		c.locked++
	case was && !is:
		c.locked--
	}
}

// settle updates the group's place in the list of ready groups after a change in the group.
func (c *contents) settle(g *group) {
	head := g.items.head
	ready := head != nil && head.state == Visible
	switch {
	case ready && !g.ready:
		c.readyGroups.pushBack(g)
		c.wake()
	case !ready && g.ready:
		c.readyGroups.remove(g)
	}
	g.ready = ready
	if head == nil {
		delete(c.groups, g.name)
	}
}

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
