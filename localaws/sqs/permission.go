package sqs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/wire"
)

// AddPermissionInput is the input of AddPermission.
type AddPermissionInput struct {
	QueueURL string   `json:"QueueUrl"`
	Label    string   `json:"Label"`
	Accounts []string `json:"AWSAccountIds" query:"AWSAccountId,flat"`
	Actions  []string `json:"Actions" query:"ActionName,flat"`
}

// grantable returns the actions that a permission may name.
func grantable() []string {
	return []string{
		"*", "SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility",
		"GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue",
	}
}

// ownersOnly returns the actions that cannot be permitted to other accounts.
func ownersOnly() []string {
	return []string{
		"AddPermission", "CancelMessageMoveTask", "CreateQueue", "DeleteQueue", "ListMessageMoveTasks", "ListQueues",
		"ListQueueTags", "RemovePermission", "SetQueueAttributes", "StartMessageMoveTask", "TagQueue", "UntagQueue",
	}
}

// maxGranted is the most actions, and accounts, of one permission.
const maxGranted = 7

// addPermission adds a statement to the queue's policy. It fails if a statement has the label already, and takes at
// most seven actions and accounts; only some actions can be granted (AWS's API reference, AddPermission).
func addPermission(c call, q *Queue, in *AddPermissionInput) (*Empty, error) {
	bad := checkPermission(c, in)
	if bad != nil {
		return nil, bad
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	doc := document{Version: "2008-10-17", ID: q.arn + "/SQSDefaultPolicy"}
	if p := q.settings.Load().policy; p != nil {
		doc = p.document
	}
	if slices.ContainsFunc(doc.Statements, func(st access.Statement) bool { return st.Sid == in.Label }) {
		return nil, invalidValue(in.Label, "Label", "Already exists.")
	}
	st, err := q.grant(in)
	if err != nil {
		return nil, err
	}
	doc.Statements = append(slices.Clip(doc.Statements), st)
	return &Empty{}, q.setDocument(doc)
}

func checkPermission(c call, in *AddPermissionInput) *wire.Error {
	switch {
	case in.Label == "":
		return missing("Label")
	case len(in.Label) > 80 || !plainName(in.Label):
		return invalidValue(in.Label, "Label",
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	case len(in.Actions) == 0:
		return missing("Actions")
	case in.Accounts == nil && c.Protocol == wire.JSON:
		return missing("AWSAccountIds")
	case len(in.Accounts) == 0:
		return invalidValue("[]", "PrincipalId", "Unable to verify.")
	case len(in.Actions) > maxGranted:
		return &wire.Error{
			Code: "OverLimit", Status: 403,
			Message: fmt.Sprintf("%d Actions were found, maximum allowed is %d.", len(in.Actions), maxGranted),
		}
	}
	for _, a := range in.Actions {
		if slices.Contains(ownersOnly(), a) {
			return invalidValue("SQS:"+a, "ActionName", "Only the queue owner is allowed to invoke this action.")
		}
		if !slices.Contains(grantable(), a) {
			return invalidValue("SQS:"+a, "ActionName",
				"Please refer to the appropriate WSDL for a list of valid actions. ")
		}
	}
	for _, a := range in.Accounts {
		if len(a) != 12 || slices.ContainsFunc([]byte(a), func(c byte) bool { return c < '0' || c > '9' }) {
			return invalidValue("["+a+"]", "PrincipalId", "Unable to verify.")
		}
	}
	return nil
}

// grant returns the policy statement of a permission.
func (q *Queue) grant(in *AddPermissionInput) (access.Statement, error) {
	st := access.Statement{Sid: in.Label, Effect: "Allow", Resource: access.Words{q.arn}}
	var accounts access.Words
	for _, a := range in.Accounts {
		accounts = append(accounts, wire.AccountARN(wire.PartitionOf(q.arn), a))
	}
	for _, a := range in.Actions {
		st.Action = append(st.Action, "SQS:"+a)
	}
	principal, err := json.Marshal(map[string]access.Words{"AWS": accounts})
	st.Principal = principal
	return st, err
}

// setDocument makes a document the queue's policy. A document without statements removes the policy. The caller holds
// the queue's lock.
func (q *Queue) setDocument(doc document) error {
	if len(doc.Statements) == 0 {
		q.change(func(set *settings) { set.policy = nil })
		return nil
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	q.change(func(set *settings) { set.policy = &policy{text: string(text), document: doc} })
	return nil
}

// RemovePermissionInput is the input of RemovePermission.
type RemovePermissionInput struct {
	QueueURL string `json:"QueueUrl"`
	Label    string `json:"Label"`
}

// removePermission removes the statements with a label; a label that no statement has is an InvalidParameterValue
// (AWS's API reference).
func removePermission(_ call, q *Queue, in *RemovePermissionInput) (*Empty, error) {
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
