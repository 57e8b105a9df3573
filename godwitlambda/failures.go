package godwitlambda

import (
	"sync"

	"github.com/godwitmq/godwit"
)

// mostFailures bounds the messages whose failures are remembered.
const mostFailures = 10_000

// failures counts the failures of messages over the events of one process. The service counts only receives, also
// those in which a message has waited behind another one of its group until the function ended.
type failures struct {
	mu    sync.Mutex
	of    map[string]int
	order []string // a ring, the oldest at next once it is full
	next  int
}

// counted returns a policy that knows of the failures in earlier events.
func (f *failures) counted(p godwit.Policy) godwit.Policy {
	return func(d *godwit.Delivery, err error) godwit.Verdict {
		d.Failures += f.known(d.ID)
		v := p(d, err)
		if v.Action == godwit.ActionRetry {
			f.note(d.ID, d.Failures)
		}
		return v
	}
}

func (f *failures) known(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[id]
}

func (f *failures) note(id string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]int{}
	}
	if _, known := f.of[id]; !known && len(f.order) < mostFailures {
		f.order = append(f.order, id)
	} else if !known {
		delete(f.of, f.order[f.next])
		f.order[f.next] = id
		f.next = (f.next + 1) % mostFailures
	}
	f.of[id] = n
}
