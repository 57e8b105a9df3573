package sqs

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// Queue is one queue: a model, and everything else that AWS knows about a queue.
type Queue struct {
	name  string
	arn   string
	fifo  bool
	model *queue.Queue
	// random gives messages their ids.
	random *random.Source
	// journal says where the queue is kept; nil: in memory alone.
	journal *queue.Journal

	settings atomic.Pointer[settings] // replaced as a whole

	mu         sync.Mutex // guards changes of the settings, and the following fields
	tags       map[string]string
	purged     time.Duration // when it was purged last; 0: never
	everPurged bool
	gone       bool // deleted
}

// newQueue returns a queue that is not registered yet. journal may be nil.
func newQueue(s *Service, name string, set *settings, journal *queue.Journal) *Queue {
	q := &Queue{
		name: name, arn: s.arn(name), fifo: isFIFO(name), tags: map[string]string{}, journal: journal,
		random: s.opts.Random,
	}
	q.settings.Store(set)
	o := queue.Options{
		ARN: q.arn, FIFO: q.fifo, Clock: s.opts.Clock, Random: s.opts.Random, Config: set.model(queue.Chaos{}),
		DeadLetters: func() *queue.Queue { return deadLetters(s, q) }, Journal: journal,
	}
	if s.opts.Woken != nil {
		o.Woken = func(*queue.Queue) { s.opts.Woken(q) }
	}
	q.model = queue.New(o)
	return q
}

// deadLetters returns the queue for a queue's dead letters; nil while it does not exist.
func deadLetters(s *Service, q *Queue) *queue.Queue {
	redrive := q.settings.Load().redrive
	if redrive == nil {
		return nil
	}
	target := s.byARN(redrive.target)
	if target == nil || target == q {
		return nil
	}
	return target.model
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// ARN returns the queue's ARN.
func (q *Queue) ARN() string { return q.arn }

// FIFO reports whether it is a FIFO queue.
func (q *Queue) FIFO() bool { return q.fifo }

// HasPolicy reports whether the queue has a policy.
func (q *Queue) HasPolicy() bool { return q.settings.Load().policy != nil }

// Model returns the queue's content, for inspecting it without receiving.
func (q *Queue) Model() *queue.Queue { return q.model }

// Chaos makes a standard queue deliver twice and out of order, as AWS may. The zero Chaos turns this off. It has no
// effect on a FIFO queue.
func (q *Queue) Chaos(c queue.Chaos) {
	q.mu.Lock()
	defer q.mu.Unlock()
	config := q.model.Config()
	config.Chaos = c
	q.model.Configure(config)
}

// change replaces the settings with a modified copy.
func (q *Queue) change(alter func(*settings)) {
	set := *q.settings.Load()
	alter(&set)
	q.settings.Store(&set)
	q.model.Configure(set.model(q.model.Config().Chaos))
	q.keep()
}

// keep writes the queue's record. The caller holds the queue's lock.
func (q *Queue) keep() {
	if q.journal != nil && !q.gone {
		put(q.journal.Store, queueRecord+numberText(q.journal.Number), recordOf(q))
	}
}

// forget deletes the queue, its content and its record.
func (q *Queue) forget() {
	q.mu.Lock()
	q.gone = true
	if q.journal != nil {
		q.journal.Store.Write(keep.Change{Key: queueRecord + numberText(q.journal.Number)})
	}
	q.mu.Unlock()
	q.model.Delete()
}

// suffix is the end of a FIFO queue's name.
const suffix = ".fifo"

func isFIFO(name string) bool { return strings.HasSuffix(name, suffix) }

// maxName is the length of the longest queue name, including the suffix.
const maxName = 80

func validName(name string) bool {
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	return plainName(strings.TrimSuffix(name, suffix))
}

// plainName reports whether a name has only letters, digits, hyphens and underscores.
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
