package estate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// sidPrefix marks our statements in a resource policy; other statements are left alone.
const sidPrefix = "godwit"

// statement is one statement of a resource policy.
type statement map[string]any

// tlsOnly forbids an action without TLS.
func tlsOnly(action, resource string) statement {
	return statement{
		"Sid": sidPrefix + "TLS", "Effect": "Deny", "Principal": "*", "Action": action, "Resource": resource,
		"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}},
	}
}

// fromTopic allows one topic to send to a queue.
func fromTopic(queueARN, topicARN string) statement {
	return statement{
		"Sid": sidPrefix + "Topic", "Effect": "Allow", "Principal": map[string]any{"Service": "sns.amazonaws.com"},
		"Action": "sqs:SendMessage", "Resource": queueARN,
		"Condition": map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": topicARN}},
	}
}

// MergePolicy replaces our statements in a policy, each in its place, so that a policy that is right does not differ.
// It
// keeps the statement of a pause, which operators add and remove.
func MergePolicy(policy string, ours ...statement) (string, error) {
	doc := map[string]any{"Version": "2012-10-17"}
	if policy != "" {
		if err := json.Unmarshal([]byte(policy), &doc); err != nil {
			return "", fmt.Errorf("its policy is not JSON: %w", err)
		}
	}
	var all []any
	switch there := doc["Statement"].(type) {
	case []any:
		all = there
	case map[string]any: // a single statement need not be in a list
		all = []any{there}
	}
	var merged []any
	for _, s := range all {
		one, _ := s.(map[string]any)
		sid, _ := one["Sid"].(string)
		i := slices.IndexFunc(ours, func(s statement) bool { return s["Sid"] == sid })
		switch {
		case i >= 0:
			merged = append(merged, ours[i])
			ours = slices.Delete(slices.Clone(ours), i, i+1)
		case sid == PauseSid || !strings.HasPrefix(sid, sidPrefix):
			merged = append(merged, s)
		}
	}
	for _, s := range ours {
		merged = append(merged, s)
	}
	doc["Statement"] = merged
	out, err := json.Marshal(doc)
	return string(out), err
}

// sameJSON reports whether two texts are equal as JSON, whatever the order of their members.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// PauseSid is the statement of a queue's policy that pauses the queue. Its name is part of the interface: other
// programs may add and remove it.
const PauseSid = sidPrefix + "Pause"

// pauseOf is the statement that pauses a queue: it denies every receive, whoever makes it.
func pauseOf(queueARN string) statement {
	return statement{
		"Sid": PauseSid, "Effect": "Deny", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": queueARN,
	}
}

// PolicyWithPause is the policy of the queue with or without the statement of a pause.
func (q *Queue) PolicyWithPause(on bool) (string, error) {
	if q.Policy() == "" {
		return MergePolicy("", pauseOf(q.ARN())) // without a policy there is nothing to remove
	}
	p, err := readPolicy(q.Policy())
	if err != nil {
		return "", client.Permanent("%w: repair it first", err)
	}
	if on {
		return p.with(pauseOf(q.ARN()))
	}
	return p.without(p.pause()), nil
}

// Paused reports whether the policy of the queue has the statement of a pause.
func (q *Queue) Paused() bool {
	p, err := readPolicy(q.Policy())
	return err == nil && p.pause() >= 0
}
