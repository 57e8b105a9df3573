package demo

import (
	"context"
	"path"
	"sync"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
)

// tally counts the requests of a server by the queue they are for. Safe for concurrent use.
type tally struct {
	mu sync.Mutex
	by map[string]int64 // by queue; "" holds those that are for none, which are the publishes
}

// countRequests counts from now on.
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

// of is how many requests were for these queues.
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

// queueOf is the queue that a request of the work is for.
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
