package localaws

import (
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// calls counts calls by place and action. The zero value is usable.
type calls struct {
	mu     sync.Mutex
	counts map[calledAction]int
}

type calledAction struct {
	at              wire.Place
	service, action string
}

// Calls returns how often callers of this place called each action; see [Server.Calls].
func (p *Place) Calls() map[string]int {
	return p.server.calls.list(func(at wire.Place) bool { return at == p.at })
}

func (c *calls) list(of func(wire.Place) bool) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := make(map[string]int, len(c.counts))
	for a, count := range c.counts {
		if of(a.at) {
			n[a.service+"."+a.action] += count
		}
	}
	return n
}

func (c *calls) add(call *wire.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[calledAction]int{}
	}
	c.counts[calledAction{call.Place(), call.Service, call.Action}]++
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = nil
}
