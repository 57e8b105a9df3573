package godwit

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxFaults internal faults within faultWindow end Run: something is wrong that carrying on cannot mend.
	maxFaults   = 5
	faultWindow = time.Minute
)

var errFaults = fmt.Errorf("%d internal panics within %v", maxFaults, faultWindow)

// faultLog remembers when the library's own code, or a hook or policy it called, panicked.
type faultLog struct {
	mu   sync.Mutex
	when []time.Time
}

// add notes a fault and says whether there were too many of late.
func (l *faultLog) add(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.when = append(l.when, now)
	if len(l.when) > maxFaults {
		l.when = l.when[1:]
	}
	return len(l.when) == maxFaults && now.Sub(l.when[0]) <= faultWindow
}

// fault deals with a panic that was not a handler's.
func (s *session) fault(err *PanicError) {
	s.health.fault(err)
	s.c.log.Error("internal panic", "error", err, "stack", string(err.Stack))
	if s.faults.add(time.Now()) {
		s.fail(&Error{Op: "run", Channel: s.c.name, Err: errors.Join(errFaults, err)})
	}
}

// guard runs a part of the library's own; a panic in it is a fault, not a dead process.
func (s *session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.fault(newPanicError(p))
		}
	}()
	f()
}

// observe calls a hook of one argument, if there is one.
func observe[T any](s *session, hook func(T), about T) {
	if hook != nil {
		s.guard(func() { hook(about) })
	}
}
