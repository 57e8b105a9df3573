package kafka

// censusSize is how many records are counted before their keys are judged.
const censusSize = 1_000

// census counts the records of a channel that have no key. Guarded by ledger.mu.
type census struct{ records, without int }

// counts counts a record. It returns true once: when enough records are counted, and half of them have no key.
func (c *census) counts(key bool) bool {
	if c.records == censusSize {
		return false
	}
	c.records++
	if !key {
		c.without++
	}
	return c.records == censusSize && c.without >= censusSize/2
}
