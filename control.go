package godwit

// Pause stops polling and releases the deliveries whose handlers have not started. Running handlers continue. The
// deliveries behind one in its lane are released when it ends, because no other consumer can get them earlier. On Kafka
// nothing is released: the deliveries wait. A consumer may be paused before it runs. A second Pause does nothing.
func (c *Consumer) Pause() {
	c.mu.Lock()
	c.paused = true
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Pause()
	}
}

// Resume ends a Pause.
func (c *Consumer) Resume() {
	c.mu.Lock()
	c.paused = false
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.Resume()
	}
}

// SetConcurrency changes how many handlers run at the same time, also while the consumer runs. Additional handlers
// start as soon as there are deliveries for them. Surplus handlers finish first. In a fleet it changes the consumer's
// limit, and the pool keeps its size. If MaxConcurrency is larger, the pool adapts from the new number.
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

// concurrency is the current number of handlers.
func (c *Consumer) concurrency() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.o.Concurrency
}
