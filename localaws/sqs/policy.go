package sqs

import (
	"encoding/json"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// policy is a queue's Policy: the text as it is shown, and its statements.
type policy struct {
	text string
	document
}

type document struct {
	Version    string      `json:"Version,omitempty"`
	ID         string      `json:"Id,omitempty"`
	Statements []statement `json:"Statement"`
}

func setPolicy(s *settings, text string) *wire.Error {
	if text == "" {
		s.policy = nil
		return nil
	}
	p := &policy{text: text}
	if err := json.Unmarshal([]byte(text), &p.document); err != nil {
		return invalidAttribute("Policy", "")
	}
	for i := range p.Statements {
		if !p.Statements[i].valid() {
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
