package sqs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// policy is a queue's Policy: its text as it is shown, and its statements.
type policy struct {
	text string
	document
}

type document struct {
	Version    string     `json:"Version,omitempty"`
	ID         string     `json:"Id,omitempty"`
	Statements statements `json:"Statement"`
}

// allows reports whether the policy allows a request. A nil policy allows nothing.
func (p *policy) allows(r access.Request) bool {
	return p != nil && access.Allows(p.Statements, r)
}

// forbidden returns AWS's error if the queue's policy denies the call, or does not allow it to another account. Batches
// need the permission of the single action.
func forbidden(c call, q *Queue) *wire.Error {
	p, foreign := q.settings.Load().policy, c.Account != c.at.opts.Account
	if p == nil && !foreign {
		return nil
	}
	action := strings.TrimSuffix(c.Action, "Batch")
	r := access.Request{
		Caller: wire.UserARN(wire.PartitionOf(q.arn), c.Account), Account: c.Account,
		Action: "sqs:" + action, Resource: q.arn,
	}
	reason := "with an explicit deny in a resource-based policy"
	denied := p != nil && access.Denies(p.Statements, r)
	switch {
	case denied:
	case !foreign, p.allows(r) && !slices.Contains(ownersOnly(), action):
		return nil
	default:
		reason = "because no resource-based policy allows the sqs:" + strings.ToLower(action) + " action"
	}
	text := fmt.Sprintf("User: %s is not authorized to perform: sqs:%s on resource: %s %s", r.Caller,
		strings.ToLower(action), q.arn, reason)
	if !denied && c.at.opts.Leniency.Permits(text) {
		return nil
	}
	return &wire.Error{
		Code: "com.amazon.coral.service#AccessDeniedException", Query: "AccessDenied", Status: 403, Message: text,
	}
}

// maxStatements is the most statements in a queue's policy.
const maxStatements = 20

// statements are written as a list, or as a single statement without a list.
type statements []access.Statement

func (s *statements) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if bytes.HasPrefix(b, []byte("{")) {
		*s = make(statements, 1)
		return d.Decode(&(*s)[0])
	}
	return d.Decode((*[]access.Statement)(s))
}

// decodeWhole decodes an attribute in JSON. More text behind the document is an error.
func decodeWhole(d *json.Decoder, into any) error {
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON document")
	}
	return nil
}

func setPolicy(s *settings, text string) *wire.Error {
	if text == "" {
		s.policy = nil
		return nil
	}
	p := &policy{text: text}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	bad := decodeWhole(d, &p.document) != nil || len(p.Statements) == 0
	if bad || p.Version != "" && p.Version != "2008-10-17" && p.Version != "2012-10-17" {
		return invalidAttribute("Policy", "")
	}
	if n := len(p.Statements); n > maxStatements {
		return &wire.Error{
			Code: "OverLimit", Status: 403,
			Message: fmt.Sprintf("%d statements were found in the submitted policy, max allowed is %d", n,
				maxStatements),
		}
	}
	for i := range p.Statements {
		if !p.Statements[i].Valid() {
			return invalidAttribute("Policy", "")
		}
	}
	s.policy = p
	return nil
}

func showPolicy(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
	if s.policy == nil {
		return "", false
	}
	return s.policy.text, true
}
