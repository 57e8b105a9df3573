package estate

import (
	"sync"

	"github.com/godwitmq/godwit/driver"
)

// Warned remembers the channels about which something was said once. The zero value is ready; it is safe for concurrent
// use.
type Warned struct {
	mu   sync.Mutex
	done map[driver.Channel]bool
}

// First reports whether it is the first call for a channel.
func (o *Warned) First(ch driver.Channel) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done[ch] {
		return false
	}
	if o.done == nil {
		o.done = map[driver.Channel]bool{}
	}
	o.done[ch] = true
	return true
}
