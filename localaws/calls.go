package localaws

import (
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// calls counts calls by action. The zero value is usable.
type calls struct {
	mu     sync.Mutex
	counts map[calledAction]int
}

type calledAction struct{ service, action string }

// Calls returns how often each action, such as "sqs.SendMessage", was called, so that tests can count requests. Calls
// that a control failed or dropped count, too.
func (s *Server) Calls() map[string]int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	n := make(map[string]int, len(s.calls.counts))
	for a, count := range s.calls.counts {
		n[a.service+"."+a.action] = count
	}
	return n
}

func (c *calls) add(call *wire.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[calledAction]int{}
	}
	c.counts[calledAction{call.Service, call.Action}]++
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = nil
}
