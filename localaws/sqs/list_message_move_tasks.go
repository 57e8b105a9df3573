package sqs

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListMessageMoveTasksInput is the input of ListMessageMoveTasks.
type ListMessageMoveTasksInput struct {
	SourceARN  string `json:"SourceArn"`
	MaxResults *int32 `json:"MaxResults"` // nil: 1
}

// ListMessageMoveTasksOutput is the output of ListMessageMoveTasks, newest first.
type ListMessageMoveTasksOutput struct {
	Results []moveTaskResult `json:"Results" query:"ListMessageMoveTasksResultEntry,flat"`
}

type moveTaskResult struct {
	TaskHandle     string `json:"TaskHandle"` // only of a running task
	Status         string `json:"Status"`
	SourceARN      string `json:"SourceArn"`
	DestinationARN string `json:"DestinationArn"`
	Rate           *int32 `json:"MaxNumberOfMessagesPerSecond"`
	Moved          int64  `json:"ApproximateNumberOfMessagesMoved"`
	ToMove         int64  `json:"ApproximateNumberOfMessagesToMove"`
	FailureReason  string `json:"FailureReason"`
	Started        int64  `json:"StartedTimestamp"` // milliseconds
}

// listMessageMoveTasks shows the newest task unless MaxResults asks for up to ten, and a task's handle only while it
// runs (AWS's API reference, ListMessageMoveTasks).
func (s *Service) listMessageMoveTasks(_ context.Context, c *wire.Call,
	in *ListMessageMoveTasksInput,
) (*ListMessageMoveTasksOutput, error) {
	q, bad := s.moveSource(c, in.SourceARN)
	if bad != nil {
		return nil, bad
	}
	limit := 1
	if n := in.MaxResults; n != nil {
		if *n < 1 || *n > maxTasks {
			return nil, invalidValue(*n, "MaxResults", "Must be between 1 and 10, if provided.")
		}
		limit = int(*n)
	}
	out := &ListMessageMoveTasksOutput{}
	for _, t := range s.tasks.of(q.arn) {
		if len(out.Results) < limit {
			out.Results = append(out.Results, t.snapshot())
		}
	}
	return out, nil
}
