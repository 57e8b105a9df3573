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
		s.Pause()
	}
}

// Resume takes a Pause back.
func (c *Consumer) Resume() {
	c.mu.Lock()
	c.paused = false
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Resume()
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
		s.SetConcurrency(n)
	}
	return nil
}

// concurrency is how many handlers run at once, as things are now.
func (c *Consumer) concurrency() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Concurrency
}
