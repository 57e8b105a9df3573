package godwit

// Pause stops polling and gives back what has not started; running handlers go on, and what stands behind one in its
// lane goes back when it ends, since nobody else could have it before. On a log nothing goes back: it waits. A consumer
// may be paused before it runs. A second Pause does nothing.
func (c *Consumer) Pause() {
	c.mu.Lock()
	c.paused = true
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.holdBack()
	}
}

// Resume takes a Pause back.
func (c *Consumer) Resume() {
	c.mu.Lock()
	c.paused = false
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.letIn(holdPaused)
	}
}

// SetConcurrency changes how many handlers run at once, also while the consumer runs: more start as soon as there is
// work for them, surplus ones finish what they do first. In a fleet it is the consumer's cap; the pool stays. Where
// MaxConcurrency is larger the pool adapts from there.
func (c *Consumer) SetConcurrency(n int) error {
	if err := within("concurrency", n, 1, maxConcurrency); err != nil {
		return err
	}
	c.mu.Lock()
	s := c.session
	c.o.Concurrency = n
	c.mu.Unlock()
	if s != nil {
		s.setConcurrency(n, s.pace.restart(n))
	}
	return nil
}

// concurrency is how many handlers run at once, as things are now.
func (c *Consumer) concurrency() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Concurrency
}

// holdBack stops polling, and gives back what has not started, because the consumer is paused.
func (s *session) holdBack() {
	var heads []*Delivery
	s.gate.shut(holdPaused, func() {
		if s.lim.Keeps { // what is here cannot go back, and nobody else could have it
			s.bus.freeze(s)
		} else {
			heads = s.bus.park(s)
		}
	})
	if !s.lim.Keeps {
		s.giveBackAll(heads)
	}
}

// holdProbes stops polling because the breaker is open, and returns what is more than it keeps for its probes.
func (s *session) holdProbes() (surplus []*Delivery) {
	s.gate.shut(holdBroken, func() {
		s.bus.freeze(s)
		if !s.lim.Keeps {
			surplus = s.bus.surplus(s, probeCandidates)
		}
	})
	return surplus
}

// giveBackAll gives back heads of lanes that have not started, and all that waits elsewhere.
func (s *session) giveBackAll(heads []*Delivery) {
	if s.lim.Keeps {
		return
	}
	for _, head := range heads {
		s.giveBackWaiting(head)
	}
	s.giveBackHeld()
	s.giveBackAside()
}

// letIn takes a reason back, and polls again if it was the last.
func (s *session) letIn(h hold) {
	s.gate.lift(h, func() { s.bus.unpark(s) })
}

// probe lets one delivery through, and asks for one if there is none here, or a fresh one is wanted.
func (s *session) probe(fresh bool) {
	if s.gate.held(holdPaused) {
		return
	}
	if !s.bus.grant(s) || fresh && !s.lim.Keeps {
		s.gate.lift(holdBroken, func() {})
	}
}

func (s *session) setConcurrency(n, more int) {
	s.places.grow(more * s.batching.size())
	switch {
	case s.pool == nil: // an iterator's caller is one
	case s.queue.alone:
		s.pool.resize(n)
	default:
		s.bus.cap(s, n)
	}
}
