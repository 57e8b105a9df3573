package engine

import (
	"fmt"
	"sync"
	"time"
)

const (
	// maxFaults internal faults within faultWindow end a session: something is wrong that carrying on cannot mend.
	maxFaults   = 5
	faultWindow = time.Minute
)

var errFaults = fmt.Errorf("%d internal panics within %v", maxFaults, faultWindow)

// faultLog remembers when the engine's own code, or a function of the user's that it called, panicked.
type faultLog struct {
	mu   sync.Mutex
	when []time.Time
}

// add notes a fault and says whether there were too many lately.
func (l *faultLog) add(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.when = append(l.when, now)
	if len(l.when) > maxFaults {
		l.when = l.when[1:]
	}
	return len(l.when) == maxFaults && now.Sub(l.when[0]) <= faultWindow
}
