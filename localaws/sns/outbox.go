package sns

import (
	"fmt"
	"slices"
	"sync"
)

const (
	// attemptsAtOnce bounds the open connections: a process may have as few as 256 files.
	attemptsAtOnce = 64
	// attemptsPerEndpoint keeps silent endpoints, each attempt at which takes 15 s, from using all connections.
	attemptsPerEndpoint = 8
	// maxOutbox bounds the bytes of deliveries that wait for an attempt.
	maxOutbox = 256 << 20
)

// outbox holds deliveries over HTTP until they have succeeded or failed. It lets few attempts run at the same time; the
// others wait, in order of arrival for each endpoint. The zero value is usable.
type outbox struct {
	mu      sync.Mutex
	held    int              // bytes of all deliveries
	running int              // attempts
	lines   map[string]*line // by endpoint
	ready   []*line          // lines that may start an attempt, in turn
}

// line holds the deliveries of one endpoint that wait for an attempt.
type line struct {
	endpoint string
	running  int
	waiting  []*post
	queued   bool // it is in ready
}

// admit counts a new delivery, or returns the reason why it fails at once.
func (o *outbox) admit(p *post) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held+len(p.body) > maxOutbox {
		return fmt.Errorf("deliveries of %d bytes wait for endpoints already", o.held)
	}
	o.held += len(p.body)
	return nil
}

// leave forgets a delivery that has succeeded or failed.
func (o *outbox) leave(p *post) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held -= len(p.body)
}

// add adds a delivery whose next attempt is due, and returns the deliveries whose attempts the caller starts.
func (o *outbox) add(p *post) []*post {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[p.endpoint]
	if l == nil {
		l = &line{endpoint: p.endpoint}
		if o.lines == nil {
			o.lines = map[string]*line{}
		}
		o.lines[p.endpoint] = l
	}
	l.waiting = append(l.waiting, p)
	o.queue(l)
	return o.next()
}

// ended counts the end of an attempt, and returns the deliveries whose attempts the caller starts.
func (o *outbox) ended(p *post) []*post {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[p.endpoint]
	o.running--
	l.running--
	o.queue(l)
	if l.running == 0 && len(l.waiting) == 0 {
		delete(o.lines, l.endpoint)
	}
	return o.next()
}

// drop forgets the deliveries that wait, of the services that of selects. Attempts that run continue.
func (o *outbox) drop(of func(*Service) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for endpoint, l := range o.lines {
		l.waiting = slices.DeleteFunc(l.waiting, func(p *post) bool {
			dropped := of(p.owner)
			if dropped {
				o.held -= len(p.body)
			}
			return dropped
		})
		l.queued = l.queued && len(l.waiting) > 0
		if l.running == 0 && len(l.waiting) == 0 {
			delete(o.lines, endpoint)
		}
	}
	o.ready = slices.DeleteFunc(o.ready, func(l *line) bool { return !l.queued })
}

// queue adds a line to those that may start an attempt.
func (o *outbox) queue(l *line) {
	if !l.queued && len(l.waiting) > 0 && l.running < attemptsPerEndpoint {
		l.queued = true
		o.ready = append(o.ready, l)
	}
}

// next takes deliveries from the lines in turn, as many as may run.
func (o *outbox) next() []*post {
	var due []*post
	for o.running < attemptsAtOnce && len(o.ready) > 0 {
		l := o.ready[0]
		o.ready = o.ready[1:]
		l.queued = false
		due = append(due, l.waiting[0])
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		o.running++
		l.running++
		o.queue(l)
	}
	return due
}
