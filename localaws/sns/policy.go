package sns

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/wire"
)

// policy is a topic's access policy. It is stored, changed by AddPermission and RemovePermission, and shown. It decides
// about other services and other accounts; it refuses no caller of the owner's account.
type policy struct {
	Version   string            `json:"Version,omitempty"`
	ID        string            `json:"Id,omitempty"`
	Statement []json.RawMessage `json:"Statement"`

	given string // the text as it was set, shown until a permission changes the policy
}

// statement is a statement that this server writes.
type statement struct {
	Sid       string         `json:"Sid"`
	Effect    string         `json:"Effect"`
	Principal map[string]any `json:"Principal"`
	Action    any            `json:"Action"`
	Resource  string         `json:"Resource"`
	Condition map[string]any `json:"Condition,omitempty"`
}

// ownerActions are the actions that the policy of a new topic allows its owner.
var ownerActions = []string{
	"SNS:GetTopicAttributes", "SNS:SetTopicAttributes", "SNS:AddPermission", "SNS:RemovePermission",
	"SNS:DeleteTopic", "SNS:Subscribe", "SNS:ListSubscriptionsByTopic", "SNS:Publish",
}

func defaultPolicy(arn, account string) policy {
	own := asJSON(statement{
		Sid: "__default_statement_ID", Effect: "Allow", Principal: map[string]any{"AWS": "*"},
		Action: ownerActions, Resource: arn,
		Condition: map[string]any{"StringEquals": map[string]string{"AWS:SourceOwner": account}},
	})
	return policy{Version: "2008-10-17", ID: "__default_policy_ID", Statement: []json.RawMessage{json.RawMessage(own)}}
}

// parsePolicy parses a policy from a client.
func parsePolicy(text string) (policy, *wire.Error) {
	p := policy{given: text}
	var whole struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if json.Unmarshal([]byte(text), &whole) != nil || len(whole.Statement) == 0 {
		return policy{}, invalid("Policy Error: null")
	}
	p.Version, p.ID = whole.Version, whole.ID
	if whole.Statement[0] == '{' { // a single statement need not be in a list
		p.Statement = []json.RawMessage{whole.Statement}
		return p, nil
	}
	if json.Unmarshal(whole.Statement, &p.Statement) != nil || len(p.Statement) == 0 {
		return policy{}, invalid("Policy Error: null")
	}
	return p, nil
}

func (p policy) text() string {
	if p.given != "" {
		return p.given
	}
	return asJSON(p)
}

// statements returns the policy's statements as access decides about them.
func (p policy) statements() ([]access.Statement, error) {
	var all []access.Statement
	for _, raw := range p.Statement {
		var s access.Statement
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// find returns the index of the statement with a label, or -1.
func (p policy) find(label string) int {
	return slices.IndexFunc(p.Statement, func(raw json.RawMessage) bool {
		var s struct{ Sid string }
		return json.Unmarshal(raw, &s) == nil && s.Sid == label
	})
}

// allowable reports whether a statement may name an action.
func allowable(action string) bool {
	return slices.ContainsFunc(ownerActions, func(a string) bool { return strings.TrimPrefix(a, "SNS:") == action }) ||
		action == "Receive" || action == "*"
}

// AddPermissionInput is the input of AddPermission.
type AddPermissionInput struct {
	TopicInput
	Label        string   `json:"Label"`
	AWSAccountID []string `json:"AWSAccountId"`
	ActionName   []string `json:"ActionName"`
}

// addPermission adds a statement to the topic's policy; its label is the Sid, and must be new. Accounts become the root
// principals of their ARNs (AWS's API reference, AddPermission).
func addPermission(c call, arn string, in *AddPermissionInput) (*Empty, error) {
	for _, parameter := range []struct {
		name    string
		missing bool
	}{
		{"Label", in.Label == ""}, {"AWSAccountId", len(in.AWSAccountID) == 0}, {"ActionName", len(in.ActionName) == 0},
	} {
		if parameter.missing {
			return nil, invalid("%s Reason: no value for required parameter", parameter.name)
		}
	}
	for _, action := range in.ActionName {
		if !allowable(action) {
			return nil, invalid("Policy statement action out of service scope!")
		}
	}
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	t, fault := c.at.topic(arn)
	if fault != nil {
		return nil, fault
	}
	if t.policy.find(in.Label) >= 0 {
		return nil, invalid("Statement already exists")
	}
	t.policy.Statement = append(slices.Clip(t.policy.Statement), permission(in, arn))
	t.policy.given = ""
	c.at.records.topic(t)
	return &Empty{}, nil
}

func permission(in *AddPermissionInput, arn string) json.RawMessage {
	var principals, actions []string
	for _, account := range in.AWSAccountID {
		principals = append(principals, wire.AccountARN(wire.PartitionOf(arn), account))
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

// RemovePermissionInput is the input of RemovePermission.
type RemovePermissionInput struct {
	TopicInput
	Label string `json:"Label"`
}

// removePermission removes the statement with a label; one that no statement has is an InvalidParameter (AWS's API
// reference, RemovePermission).
func removePermission(c call, t *topic, in *RemovePermissionInput) (*Empty, error) {
	at := t.policy.find(in.Label)
	if at < 0 {
		return nil, invalid("Statement does not exist")
	}
	t.policy.Statement = slices.Delete(slices.Clone(t.policy.Statement), at, at+1)
	t.policy.given = ""
	c.at.records.topic(t)
	return &Empty{}, nil
}

// decides reports whether the topic's policy allows a call of another account, and whether it denies it. A batch needs
// the permission of the single action. The caller holds the registry's lock.
func (t *topic) decides(c call) (allowed, denied bool) {
	statements, err := t.policy.statements()
	if err != nil {
		return false, true
	}
	r := access.Request{
		Caller: wire.UserARN(wire.PartitionOf(t.arn), c.Account), Account: c.Account,
		Action: "sns:" + strings.TrimSuffix(c.Action, "Batch"), Resource: t.arn,
	}
	return access.Allows(statements, r), access.Denies(statements, r)
}
