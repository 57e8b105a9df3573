package sqs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// CreateQueueInput is the input of CreateQueue.
type CreateQueueInput struct {
	QueueName  string            `json:"QueueName"`
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
	Tags       map[string]string `json:"tags" query:"Tag,flat,key=Key,value=Value"`
}

// QueueURL is the output of CreateQueue and of GetQueueUrl.
type QueueURL struct {
	URL string `json:"QueueUrl"`
}

// createQueue returns the existing queue if all attributes of the request are those that the queue has; others are
// QueueNameExists. AWS refuses the name of a queue that was deleted within 60 s; here only RealisticWaits does
// (recorded on AWS).
func (s *Service) createQueue(_ context.Context, c *wire.Call, in *CreateQueueInput) (*QueueURL, error) {
	if _, bad := s.create(in.QueueName, in.Attributes, in.Tags); bad != nil {
		return nil, bad
	}
	return &QueueURL{s.url(c, in.QueueName)}, nil
}

// Create creates a queue, or returns an existing one with the same attributes. It is CreateQueue without the wire.
func (s *Service) Create(name string, attributes, tags map[string]string) (*Queue, error) {
	q, bad := s.create(name, attributes, tags)
	if bad != nil {
		return nil, bad
	}
	return q, nil
}

func (s *Service) create(name string, attributes, tags map[string]string) (*Queue, *wire.Error) {
	if bad := checkNewName(name, attributes); bad != nil {
		return nil, bad
	}
	if bad := checkTags(name, nil, tags); bad != nil {
		return nil, bad
	}
	set := defaults()
	if bad := apply(set, isFIFO(name), attributes); bad != nil {
		return nil, bad
	}
	if q := s.Queue(name); q != nil {
		q.model.Touch()
		return q, same(q, set, attributes)
	}
	if bad := s.checkTarget(set, name); bad != nil {
		return nil, bad
	}
	q := s.newQueue(name, set)
	maps.Copy(q.tags, tags)
	return s.add(q, set, attributes)
}

// add registers a queue, unless another request was first.
func (s *Service) add(q *Queue, set *settings, attributes map[string]string) (*Queue, *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.queues[q.name]; first != nil {
		return first, same(first, set, attributes)
	}
	if at, gone := s.deleted[q.name]; gone {
		if s.opts.Clock.Elapsed() < at+realisticWait {
			return nil, refusal("QueueDeletedRecently",
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
		}
		delete(s.deleted, q.name)
	}
	if s.closed {
		q.model.Close()
	}
	q.keep() // nobody else knows the queue yet
	s.queues[q.name] = q
	q.model.Touch()
	return q, nil
}

// realisticWait is how long AWS makes a caller wait after a purge or a delete.
const realisticWait = 60 * time.Second

func checkNewName(name string, attributes map[string]string) *wire.Error {
	if name == "" {
		return missing("QueueName")
	}
	fifo := strings.EqualFold(attributes["FifoQueue"], "true")
	if fifo && !(isFIFO(name) && validName(name)) {
		return invalidParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or " +
			"underscores, " +
			"must end with .fifo suffix and be 1 to 80 in length.")
	}
	if !validName(name) || isFIFO(name) && !fifo {
		return invalidParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// same checks that an existing queue has the requested attributes. Attributes that are not in the request do not count.
func same(q *Queue, wanted *settings, attributes map[string]string) *wire.Error {
	have := q.settings.Load()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a, _ := findAttribute(name)
		x, thereX := a.show(q, have, queue.Stats{})
		y, thereY := a.show(q, wanted, queue.Stats{})
		if x != y || thereX != thereY {
			return queueExists(name)
		}
	}
	return nil
}
