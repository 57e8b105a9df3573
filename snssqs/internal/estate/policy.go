package estate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// mergePolicy replaces our statements in a policy, each in its place, so that a policy that is right does not differ.
// It keeps the statement of a pause, which operators add and remove.
func mergePolicy(policy string, ours ...statement) (string, error) {
	doc := map[string]any{"Version": "2012-10-17"}
	if policy != "" {
		if err := json.Unmarshal([]byte(policy), &doc); err != nil {
			return "", fmt.Errorf("its policy is not JSON: %w", err)
		}
	}
	var merged []any
	for _, s := range statementsOf(doc) {
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

// statementsOf are the statements of a policy. A single one need not be in a list.
func statementsOf(doc map[string]any) []any {
	switch there := doc["Statement"].(type) {
	case []any:
		return there
	case map[string]any:
		return []any{there}
	}
	return nil
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
		return mergePolicy("", pauseOf(q.ARN())) // without a policy there is nothing to remove
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

// policyText is a policy as it is written, with the places of its statements. Adding and removing a statement changes
// no other byte: other programs compare their policies as text.
type policyText struct {
	text       string
	list       bool // the statements are in a list; a single one need not be
	from, to   int  // where the value of Statement begins and ends
	statements []statementText
}

// statementText is the place of a statement.
type statementText struct {
	from, to int
	sid      string
}

var errNoStatement = errors.New("its policy is not an object with a Statement")

// readPolicy finds the statements of a policy.
func readPolicy(text string) (p policyText, err error) {
	p.text = text
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p, errNoStatement
	}
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return p, fmt.Errorf("its policy is not JSON: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return p, fmt.Errorf("its policy is not JSON: %w", err)
		}
		if key != "Statement" {
			continue
		}
		found = true
		p.to = int(d.InputOffset())
		p.from = p.to - len(value)
		if err := p.readStatements(string(value)); err != nil {
			return p, err
		}
	}
	if _, err := d.Token(); err != nil {
		return p, fmt.Errorf("its policy is not JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("its policy has more text behind its JSON document")
	}
	if !found {
		return p, errNoStatement
	}
	return p, nil
}

func (p *policyText) readStatements(value string) error {
	p.list, p.statements = strings.HasPrefix(value, "["), nil
	if !p.list {
		return p.readStatement(json.RawMessage(value), p.to)
	}
	d := json.NewDecoder(strings.NewReader(value))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("its policy is not JSON: %w", err)
	}
	for d.More() {
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("its policy is not JSON: %w", err)
		}
		if err := p.readStatement(one, p.from+int(d.InputOffset())); err != nil {
			return err
		}
	}
	return nil
}

func (p *policyText) readStatement(one json.RawMessage, to int) error {
	var s struct{ Sid string }
	if err := json.Unmarshal(one, &s); err != nil {
		return fmt.Errorf("a statement of its policy cannot be read: %w", err)
	}
	p.statements = append(p.statements, statementText{from: to - len(one), to: to, sid: s.Sid})
	return nil
}

// pause returns the index of the statement of a pause; negative: there is none.
func (p *policyText) pause() int {
	for i, s := range p.statements {
		if s.sid == PauseSid {
			return i
		}
	}
	return -1
}

// with returns the policy with another statement at the end.
func (p *policyText) with(s statement) (string, error) {
	one, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	value, added := p.text[p.from:p.to], string(one)
	switch n := len(p.statements); {
	case !p.list:
		value = "[" + value + "," + added + "]"
	case n == 0:
		value = "[" + added + "]"
	default:
		at := p.statements[n-1].to - p.from
		value = value[:at] + "," + added + value[at:]
	}
	return p.text[:p.from] + value + p.text[p.to:], nil
}

// without returns the policy without the statement at an index. A policy without statements is "", because SQS refuses
// an empty one.
func (p *policyText) without(i int) string {
	switch {
	case len(p.statements) == 1:
		return ""
	case i == 0:
		return p.text[:p.statements[0].from] + p.text[p.statements[1].from:]
	}
	return p.text[:p.statements[i-1].to] + p.text[p.statements[i].to:]
}
