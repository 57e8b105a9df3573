package sqs

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/wire"
)

// RemovePermissionInput is the input of RemovePermission.
type RemovePermissionInput struct {
	QueueURL string `json:"QueueUrl"`
	Label    string `json:"Label"`
}

// removePermission removes the statements with a label; a label that no statement has is an InvalidParameterValue
// (AWS's API reference).
func (s *Service) removePermission(_ context.Context, c *wire.Call, in *RemovePermissionInput) (*Empty, error) {
	q, bad := s.byURL(c, in.QueueURL)
	if bad != nil {
		return nil, bad
	}
	if in.Label == "" {
		return nil, missing("Label")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.settings.Load().policy
	if p == nil {
		return nil, invalidValue(in.Label, "Label", "can't find label.")
	}
	doc := p.document
	doc.Statements = slices.DeleteFunc(slices.Clone(doc.Statements),
		func(st access.Statement) bool { return st.Sid == in.Label })
	if len(doc.Statements) == len(p.Statements) {
		return nil, invalidValue(in.Label, "Label", "can't find label.")
	}
	return &Empty{}, q.setDocument(doc)
}
