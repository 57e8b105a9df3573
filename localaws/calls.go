package localaws

import (
	"maps"
	"sync"
	"sync/atomic"
)

// calls counts calls by action.
type calls struct {
	counts sync.Map // "sqs.SendMessage" → *atomic.Int64
}

// Calls is how often each action was called, "sqs.SendMessage", so that tests
// can count requests. Calls that a control failed or dropped count too.
func (s *Server) Calls() map[string]int {
	n := map[string]int{}
	maps.Insert(n, func(yield func(string, int) bool) {
		s.calls.counts.Range(func(action, count any) bool {
			return yield(action.(string), int(count.(*atomic.Int64).Load()))
		})
	})
	return n
}

func (c *calls) add(action string) {
	count, there := c.counts.Load(action)
	if !there {
		count, _ = c.counts.LoadOrStore(action, new(atomic.Int64))
	}
	count.(*atomic.Int64).Add(1)
}

func (c *calls) reset() { c.counts.Clear() }
