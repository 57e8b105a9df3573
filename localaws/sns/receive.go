package sns

import (
	"cmp"
	"context"
	"fmt"

	"github.com/godwitmq/godwit/localaws/access"
)

// Incoming is a message that another service publishes.
type Incoming struct {
	Service string // its principal: "s3.amazonaws.com"
	Source  string // ARN of the resource for which it publishes
	Account string // the account of that resource; "": the topic's account
	Subject string
	Message string
	Trace   string // AWSTraceHeader; "": none
	BaseURL string // the server's URL, for links in the message
}

// Admits returns an error if a topic does not exist, or if its policy does not allow another service to publish. The
// message itself does not matter.
func (s *Service) Admits(topicARN string, m Incoming) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, fault := s.topic(topicARN)
	if fault != nil {
		return fmt.Errorf("publish to %s: %w", topicARN, fault)
	}
	statements, err := t.policy.statements()
	if err != nil {
		return fmt.Errorf("publish to %s: read its policy: %w", topicARN, err)
	}
	allowed := access.Allows(statements, access.Request{
		Service: m.Service, Action: "sns:Publish", Resource: topicARN, Source: m.Source,
		Account: cmp.Or(m.Account, s.opts.Account),
	})
	if !allowed {
		return fmt.Errorf("the policy of %s does not let %s publish from %s", topicARN, m.Service, m.Source)
	}
	return nil
}

// Deliver publishes a message for another service, if the topic's policy allows it.
func (s *Service) Deliver(topicARN string, m Incoming) error {
	if err := s.Admits(topicARN, m); err != nil {
		return err
	}
	a, fault := s.recipientsOf(topicARN)
	if fault != nil {
		return fmt.Errorf("publish to %s: %w", topicARN, fault)
	}
	accepted, fault := a.accept(&request{Message: &m.Message, Subject: &m.Subject})
	if fault != nil {
		return fmt.Errorf("publish to %s: %w", topicARN, fault)
	}
	accepted.trace = m.Trace
	return s.out.publishTo(context.Background(), a, accepted, m.BaseURL) // nobody can cancel what a service publishes
}

// AdmitByDefault gives a topic a policy, unless it has one that is not that of a new topic.
func (s *Service) AdmitByDefault(topicARN, text string) error {
	p, fault := parsePolicy(text)
	if fault != nil {
		return fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, fault := s.topic(topicARN)
	if fault != nil {
		return fmt.Errorf("topic %q: %w", topicARN, fault)
	}
	if t.policy.text() == defaultPolicy(topicARN, s.opts.Account).text() {
		t.policy = p
	}
	return nil
}

// FIFO reports whether a topic is a FIFO topic; ok is false if it does not exist.
func (s *Service) FIFO(topicARN string) (fifo, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.topics[topicARN]
	return ok && t.fifo, ok
}
