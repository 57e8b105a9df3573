package demo

import (
	"context"
	"path"
	"sync"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
)

// tally counts the requests to a server by queue. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex
	by map[string]int64 // by queue; "" for requests without a queue, which are publishes
}

// countRequests starts counting.
func countRequests(s *localaws.Server) *tally {
	t := &tally{by: map[string]int64{}}
	s.Control("*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		t.mu.Lock()
		t.by[queueOf(r.Input)]++
		t.mu.Unlock()
		return localaws.Outcome{}
	})
	return t
}

// of returns the number of requests for these queues.
func (t *tally) of(queues ...string) (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range queues {
		n += t.by[q]
	}
	return n
}

func (t *tally) all() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, requests := range t.by {
		n += requests
	}
	return n
}

// queueOf returns the queue of a request.
func queueOf(input any) string {
	url := ""
	switch in := input.(type) {
	case *sqs.ReceiveMessageInput:
		url = in.QueueURL
	case *sqs.DeleteMessageBatchInput:
		url = in.QueueURL
	case *sqs.ChangeMessageVisibilityBatchInput:
		url = in.QueueURL
	case *sqs.SendMessageBatchInput:
		url = in.QueueURL
	default:
		return ""
	}
	return path.Base(url)
}
