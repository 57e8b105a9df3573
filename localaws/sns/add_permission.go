package sns

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// AddPermissionInput is the input of AddPermission.
type AddPermissionInput struct {
	TopicArn     *string  `json:"TopicArn"`
	Label        string   `json:"Label"`
	AWSAccountID []string `json:"AWSAccountId"`
	ActionName   []string `json:"ActionName"`
}

// AddPermissionOutput is the empty output of AddPermission.
type AddPermissionOutput struct{}

// addPermission adds a statement to the topic's policy; its label is the Sid, and must be new. Accounts become the root
// principals of their ARNs (AWS's API reference, AddPermission).
func (s *Service) addPermission(_ context.Context, c *wire.Call, in *AddPermissionInput) (*AddPermissionOutput, error) {
	arn, fault := s.topicARN(c, "TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	for name, missing := range map[string]bool{
		"Label": in.Label == "", "AWSAccountId": len(in.AWSAccountID) == 0,
		"ActionName": len(in.ActionName) == 0,
	} {
		if missing {
			return nil, invalid("%s Reason: no value for required parameter", name)
		}
	}
	for _, action := range in.ActionName {
		if !allowable(action) {
			return nil, invalid("Policy statement action out of service scope!")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	if t.policy.find(in.Label) >= 0 {
		return nil, invalid("Statement already exists")
	}
	t.policy.Statement = append(slices.Clip(t.policy.Statement), permission(in, arn))
	t.policy.given = ""
	s.records.topic(t)
	return &AddPermissionOutput{}, nil
}

func permission(in *AddPermissionInput, arn string) json.RawMessage {
	var principals, actions []string
	for _, account := range in.AWSAccountID {
		principals = append(principals, "arn:aws:iam::"+account+":root")
	}
	for _, action := range in.ActionName {
		actions = append(actions, "SNS:"+action)
	}
	return json.RawMessage(asJSON(statement{
		Sid: in.Label, Effect: "Allow", Principal: map[string]any{"AWS": oneOrList(principals)},
		Action: oneOrList(actions), Resource: arn,
	}))
}

// oneOrList returns a list with one element as that element, as SNS writes it in policies.
func oneOrList(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}
