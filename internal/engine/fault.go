package engine

import (
	"fmt"
	"sync"
	"time"
)

const (
	// maxFaults internal faults within faultWindow end a session, because continuing does not help.
	maxFaults   = 5
	faultWindow = time.Minute
)

var errFaults = fmt.Errorf("%d internal panics within %v", maxFaults, faultWindow)

// faultLog records panics of the engine, or of functions of the application that it called.
type faultLog struct {
	mu   sync.Mutex
	when []time.Time
}

// add records a fault and reports whether there were too many recently.
func (l *faultLog) add(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.when = append(l.when, now)
	if len(l.when) > maxFaults {
		l.when = l.when[1:]
	}
	return len(l.when) == maxFaults && now.Sub(l.when[0]) <= faultWindow
}
