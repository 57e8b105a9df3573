package sns

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// RemovePermissionInput is the input of RemovePermission.
type RemovePermissionInput struct {
	TopicArn *string `json:"TopicArn"`
	Label    string  `json:"Label"`
}

// RemovePermissionOutput is the empty output of RemovePermission.
type RemovePermissionOutput struct{}

// removePermission removes the statement with a label; one that no statement has is an InvalidParameter (AWS's API
// reference, RemovePermission).
func (s *Service) removePermission(_ context.Context, c *wire.Call, in *RemovePermissionInput) (*RemovePermissionOutput,
	error,
) {
	arn, fault := s.topicARN(c, "TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	at := t.policy.find(in.Label)
	if at < 0 {
		return nil, invalid("Statement does not exist")
	}
	t.policy.Statement = slices.Delete(slices.Clone(t.policy.Statement), at, at+1)
	t.policy.given = ""
	s.records.topic(t)
	return &RemovePermissionOutput{}, nil
}
