package sqs

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/godwitmq/godwit/localaws/wire"
)

// CancelMessageMoveTaskInput is the input of CancelMessageMoveTask.
type CancelMessageMoveTaskInput struct {
	TaskHandle string `json:"TaskHandle"`
}

// CancelMessageMoveTaskOutput is the output of CancelMessageMoveTask.
type CancelMessageMoveTaskOutput struct {
	Moved int64 `json:"ApproximateNumberOfMessagesMoved"`
}

// cancelMessageMoveTask stops a task. The messages that the task has moved stay in their destination. For a task that
// has ended the error is UnsupportedOperation (AWS's API reference, CancelMessageMoveTask).
func (s *Service) cancelMessageMoveTask(_ context.Context, c *wire.Call,
	in *CancelMessageMoveTaskInput,
) (*CancelMessageMoveTaskOutput, error) {
	if in.TaskHandle == "" {
		return nil, missing("TaskHandle")
	}
	var h taskHandle
	text, err := base64.StdEncoding.DecodeString(in.TaskHandle)
	if err != nil || json.Unmarshal(text, &h) != nil || h.TaskID == "" || h.SourceARN == "" {
		return nil, invalidParameter("Value for parameter TaskHandle is invalid.")
	}
	if _, bad := s.moveSource(c, h.SourceARN); bad != nil {
		return nil, bad
	}
	for _, t := range s.tasks.of(h.SourceARN) {
		if t.id != h.TaskID {
			continue
		}
		if !t.cancel() {
			return nil, refusal("UnsupportedOperation", "Only active tasks can be cancelled.")
		}
		t.mu.Lock()
		t.keep()
		t.mu.Unlock()
		return &CancelMessageMoveTaskOutput{Moved: t.snapshot().Moved}, nil
	}
	return nil, notFound("Task does not exist.")
}
