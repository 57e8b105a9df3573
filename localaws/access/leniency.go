package access

import (
	"log/slog"
	"sync"
)

// Leniency permits what no policy allows, as other emulators do, and says in the log what AWS would refuse. A nil
// Leniency permits nothing. It is safe for concurrent use.
type Leniency struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[string]bool
}

// NewLeniency returns a Leniency that has said nothing yet.
func NewLeniency(log *slog.Logger) *Leniency { return &Leniency{log: log} }

// maxTold bounds how many reasons are remembered; after that, the log names them again.
const maxTold = 10_000

// Permits reports whether a call or a delivery happens although AWS would refuse it. The log has the reason once.
func (l *Leniency) Permits(reason string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	known := l.told[reason]
	if l.told == nil || len(l.told) >= maxTold {
		l.told = map[string]bool{}
	}
	l.told[reason] = true
	l.mu.Unlock()
	if !known {
		l.log.Warn("localaws: permitted, because policies are lenient; AWS would refuse it", "reason", reason)
	}
	return true
}

// Reset forgets what the log has said.
func (l *Leniency) Reset() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = nil
}
