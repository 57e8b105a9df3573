package sqs

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// Queue is one queue: a model, with what AWS knows of it besides its messages.
type Queue struct {
	name  string
	arn   string
	fifo  bool
	model *queue.Queue

	settings atomic.Pointer[settings] // replaced as a whole

	mu         sync.Mutex // over changes of the settings, and over what follows
	tags       map[string]string
	purged     time.Duration // when last, if ever
	everPurged bool
}

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

// ARN is the queue's ARN.
func (q *Queue) ARN() string { return q.arn }

// FIFO says whether it is a FIFO queue.
func (q *Queue) FIFO() bool { return q.fifo }

// Model is the queue's content, for looking at it without receiving.
func (q *Queue) Model() *queue.Queue { return q.model }

// Chaos lets a standard queue deliver twice and out of order, as AWS may. The
// zero Chaos ends it. A FIFO queue stays what it is.
func (q *Queue) Chaos(c queue.Chaos) {
	q.mu.Lock()
	defer q.mu.Unlock()
	config := q.model.Config()
	config.Chaos = c
	q.model.Configure(config)
}

// change replaces the settings by an altered copy.
func (q *Queue) change(alter func(*settings)) {
	set := *q.settings.Load()
	alter(&set)
	q.settings.Store(&set)
	q.model.Configure(set.model(q.model.Config().Chaos))
}

// suffix is how a FIFO queue's name ends.
const suffix = ".fifo"

func isFIFO(name string) bool { return strings.HasSuffix(name, suffix) }

// maxName is the longest name of a queue, suffix included.
const maxName = 80

func validName(name string) bool {
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	return plainName(strings.TrimSuffix(name, suffix))
}

// plainName holds letters, digits, hyphens and underscores only.
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
