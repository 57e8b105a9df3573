package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// StartMessageMoveTaskInput is the input of StartMessageMoveTask.
type StartMessageMoveTaskInput struct {
	SourceARN      string `json:"SourceArn"`
	DestinationARN string `json:"DestinationArn"`
	Rate           *int32 `json:"MaxNumberOfMessagesPerSecond"`
}

// StartMessageMoveTaskOutput is the output of StartMessageMoveTask.
type StartMessageMoveTaskOutput struct {
	TaskHandle string `json:"TaskHandle"`
}

// maxRate is the highest rate of a task.
const maxRate = 500

// startMessageMoveTask moves what is visible from a dead-letter queue, one task a source at a time. Without a
// destination each message goes back to its source, and the answer of ListMessageMoveTasks then has none (recorded on
// AWS).
func (s *Service) startMessageMoveTask(_ context.Context, c *wire.Call,
	in *StartMessageMoveTaskInput,
) (*StartMessageMoveTaskOutput, error) {
	t, bad := s.newTask(c, in)
	if bad == nil {
		bad = s.tasks.add(t)
	}
	if bad != nil {
		return nil, bad
	}
	if t.rate == 0 {
		s.step(t)
		return &StartMessageMoveTaskOutput{TaskHandle: t.handle()}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep()
	t.stop = s.opts.Clock.AfterFunc(t.pause(), func() { s.step(t) })
	return &StartMessageMoveTaskOutput{TaskHandle: t.handle()}, nil
}

func (s *Service) newTask(c *wire.Call, in *StartMessageMoveTaskInput) (*task, *wire.Error) {
	source, bad := s.moveSource(c, in.SourceARN)
	if bad != nil {
		return nil, bad
	}
	t := &task{
		id: s.opts.Random.UUID(), source: source, destination: in.DestinationARN, started: s.opts.Clock.Now(),
		state: taskRunning, total: source.model.Stats().Visible,
	}
	if len(s.sources(source)) == 0 {
		return nil, invalidParameter("Source queue must be configured as a Dead Letter Queue.")
	}
	if in.Rate != nil {
		if *in.Rate < 1 || *in.Rate > maxRate {
			return nil, invalidValue(*in.Rate, "MaxNumberOfMessagesPerSecond",
				"Must be between 1 and 500, if provided.")
		}
		t.rate = *in.Rate
	}
	if in.DestinationARN == "" {
		return t, nil
	}
	destination := s.byARN(in.DestinationARN)
	switch {
	case destination == nil:
		return nil, notFound("The resource that you specified for the DestinationArn parameter doesn't exist.")
	case destination == source:
		return nil, invalidParameter("Source queue arn and destination queue arn cannot be the same.")
	case destination.fifo != source.fifo:
		return nil, invalidParameter("Source queue and destination queue must be of the same type.")
	}
	return t, nil
}

// moveSource returns the queue of a SourceArn. A queue of another account is refused: only its owner may move messages.
func (s *Service) moveSource(c *wire.Call, arn string) (*Queue, *wire.Error) {
	if arn == "" {
		return nil, missing("SourceArn")
	}
	q := s.byARN(arn)
	if q == nil || c.Account != s.opts.Account {
		return nil, notFound("The resource that you specified for the SourceArn parameter doesn't exist.")
	}
	q.model.Touch()
	return q, nil
}
