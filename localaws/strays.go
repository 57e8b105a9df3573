package localaws

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// strays says in the log, once for each, that a queue or a topic which a call misses is in another place: usually its
// client is signed for another region. AWS's answers do not say so.
type strays struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[stray]bool
}

// stray is a resource that a call misses.
type stray struct {
	kind, name string
	missed     wire.Place
}

// maxStrays bounds how many are remembered; after that, the log names them again.
const maxStrays = 10_000

// missQueue is called for a queue that a call misses.
func (p *places) missQueue(missed wire.Place, name string) {
	p.miss(stray{"queue", name, missed}, func(other *services) bool { return other.sqs.Queue(name) != nil })
}

// missTopic is called for a topic that a call misses. The ARN may name another region than that of the call.
func (p *places) missTopic(missed wire.Place, arn string) {
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	p.miss(stray{"topic", name, missed}, func(other *services) bool {
		return other.sns.Topic(other.at.ARN("sns", name))
	})
}

// miss is called without a lock of a service, because it looks into all of them.
func (p *places) miss(missing stray, has func(*services) bool) {
	var found []string
	for _, other := range p.all() {
		if other.at != missing.missed && has(other) {
			found = append(found, other.at.String())
		}
	}
	if len(found) == 0 || !p.strays.first(missing) {
		return
	}
	p.strays.log.Warn("localaws: a call names a "+missing.kind+" that is in another account or region; a call works in those "+
		"that it is signed for", "name", missing.name, "signed for", missing.missed.String(),
		"it is in", strings.Join(found, ", "))
}

// first reports whether it is called for a resource for the first time.
func (s *strays) first(missing stray) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[missing] {
		return false
	}
	if s.told == nil || len(s.told) >= maxStrays {
		s.told = map[stray]bool{}
	}
	s.told[missing] = true
	return true
}

func (s *strays) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = nil
}
