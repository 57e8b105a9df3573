package engine

import (
	"errors"
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

// Fault deals with a panic that was not a handler's. err has its stack.
func (s *Session) Fault(err error) {
	s.obs.Faulted(err)
	if s.faults.add(time.Now()) {
		s.fail(s.cfg.Error("run", "", errors.Join(errFaults, err)))
	}
}

// guard runs a part of the engine; a panic in it is a fault, not a dead process.
func (s *Session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.Fault(s.cfg.Panic(p))
		}
	}()
	f()
}
