package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// QueueInput is the input of actions whose only parameter is a queue.
type QueueInput struct {
	QueueURL string `json:"QueueUrl"`
}

// deleteQueue deletes with everything in the queue. AWS takes up to 60 s for it, in which calls may still succeed; here
// it is done at once, and RealisticWaits only keeps the name (AWS's API reference, DeleteQueue).
func (s *Service) deleteQueue(_ context.Context, c *wire.Call, in *QueueInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	if s.queues[q.name] == q {
		delete(s.queues, q.name)
		if s.opts.RealisticWaits {
			s.deleted[q.name] = s.opts.Clock.Elapsed()
		}
	}
	s.mu.Unlock()
	q.forget()
	return &Empty{}, nil
}
