package sns

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// Counts are what happened in a topic since it was asked last.
type Counts struct {
	Published int         // messages
	Sizes     map[int]int // of the messages: their number by size in bytes; nil: none was published

	Delivered       int // deliveries that an endpoint accepted
	Failed          int // deliveries that finally failed
	Redriven        int // of them, those that are in a dead-letter queue
	FailedToRedrive int // of them, those that the dead-letter queue refused

	FilteredOut         int // deliveries that a filter policy prevented
	FilteredNoAttribute int // of them, those of messages without attributes
	FilteredAttribute   int // of them, those by other attributes
	FilteredBody        int // of them, those by the body
}

// Metered is a topic that is counted.
type Metered struct {
	Name string
	ARN  string

	topic *topic
}

// meter counts for Collect. It is safe for concurrent use.
type meter struct {
	mu     sync.Mutex
	counts Counts
	called time.Duration // the time of the last call
	awake  bool          // somebody collects
	gone   bool          // the topic is deleted
}

// count changes the counts of a topic.
func (m *meter) count(change func(c *Counts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.counts)
}

// end says that the topic is deleted.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
}

// exactSizes is how many sizes are counted apart; beyond it, sizes are rounded to a multiple of coarse.
const (
	exactSizes = 4096
	coarse     = 1024
)

// countMessage counts a published message.
func (m *meter) countMessage(size int) {
	m.count(func(c *Counts) {
		c.Published++
		if c.Sizes == nil {
			c.Sizes = map[int]int{}
		}
		if len(c.Sizes) >= exactSizes && c.Sizes[size] == 0 {
			size -= size % coarse
		}
		c.Sizes[size]++
	})
}

// countDelivery counts a delivery that an endpoint accepted.
func (m *meter) countDelivery() { m.count(func(c *Counts) { c.Delivered++ }) }

// countFiltered counts a delivery that a filter policy prevented.
func (m *meter) countFiltered(scope filter.Scope, attributes int) {
	m.count(func(c *Counts) {
		c.FilteredOut++
		switch {
		case scope == filter.MessageBody:
			c.FilteredBody++
		case attributes == 0:
			c.FilteredNoAttribute++
		default:
			c.FilteredAttribute++
		}
	})
}

// countFailure counts a delivery that finally failed.
func (m *meter) countFailure(f Failure, hasDeadLetters bool) {
	m.count(func(c *Counts) {
		c.Failed++
		switch {
		case f.DeadLetterQueue != "":
			c.Redriven++
		case hasDeadLetters:
			c.FailedToRedrive++
		}
	})
}
