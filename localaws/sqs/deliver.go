package sqs

import (
	"cmp"
	"fmt"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// Principal identifies the service that delivers to a queue, and the resource for which it does so.
type Principal struct {
	Service   string // "sns.amazonaws.com"
	SourceARN string // the topic
	Account   string // the account of the resource; "": the queue's account
}

// Incoming is a message from another service.
type Incoming struct {
	Body       string
	Attributes map[string]queue.Attribute // nil: none
	Group      string                     // MessageGroupId
	Dedup      string                     // MessageDeduplicationId
	Trace      string                     // AWSTraceHeader
	Sender     string                     // SenderId; "": the principal's service
}

// DeniedError says that a queue's policy does not allow a delivery, and which statement would allow it.
type DeniedError struct {
	QueueARN string
	From     Principal
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the policy of %s does not let %s send from %s: it needs the statement "+
		`{"Effect":"Allow","Principal":{"Service":"%s"},"Action":"sqs:SendMessage","Resource":"%s","Condition":{"ArnEquals":{"aws:SourceArn":"%s"}}}`,
		e.QueueARN, e.From.Service, e.From.SourceARN, e.From.Service, e.QueueARN, e.From.SourceARN)
}

// Deliver puts a message into a queue for another service. The queue's policy, limits and rules apply.
func (s *Service) Deliver(queueARN string, from Principal, m Incoming) error {
	q := s.byARN(queueARN)
	if q == nil {
		return fmt.Errorf("deliver to %s: %w", queueARN, noQueue())
	}
	q.model.Touch()
	if !s.admits(q, from) {
		return &DeniedError{QueueARN: q.arn, From: from}
	}
	put, bad := m.outgoing().message(q, origin{sender: cmp.Or(m.Sender, from.Service), trace: m.Trace})
	if bad != nil {
		return fmt.Errorf("deliver to %s: %w", queueARN, bad)
	}
	_, failure := q.model.Put(put)
	if failure != nil {
		return fmt.Errorf("deliver to %s: %w", queueARN, modelError(failure))
	}
	return nil
}

// admits reports whether the queue's policy allows a delivery.
func (s *Service) admits(q *Queue, from Principal) bool {
	policy := q.settings.Load().policy
	if policy == nil && s.opts.Leniency != nil {
		return s.opts.Leniency.Permits((&DeniedError{QueueARN: q.arn, From: from}).Error())
	}
	return policy.allows(access.Request{
		Service: from.Service, Action: "sqs:SendMessage", Resource: q.arn, Source: from.SourceARN,
		Account: cmp.Or(from.Account, s.opts.Account),
	})
}

// Admits returns an error if a queue does not exist, or if its policy does not allow deliveries.
func (s *Service) Admits(queueARN string, from Principal) error {
	q := s.byARN(queueARN)
	switch {
	case q == nil:
		return fmt.Errorf("deliver to %s: %w", queueARN, noQueue())
	case !s.admits(q, from):
		return &DeniedError{QueueARN: q.arn, From: from}
	}
	return nil
}

// outgoing returns the delivery in the form of a sent message, whose rules apply to it.
func (m *Incoming) outgoing() *outgoing {
	o := &outgoing{MessageBody: m.Body}
	if m.Group != "" {
		o.MessageGroupID = &m.Group
	}
	if m.Dedup != "" {
		o.MessageDeduplicationID = &m.Dedup
	}
	if len(m.Attributes) > 0 {
		o.MessageAttributes = shownAttributes(m.Attributes)
	}
	return o
}

// Info is the part of a queue that other services use.
type Info struct {
	Name string
	ARN  string
	FIFO bool
	Tags map[string]string
}

// Lookup returns the queue with an ARN; ok is false if there is none.
func (s *Service) Lookup(arn string) (info Info, ok bool) {
	q := s.byARN(arn)
	if q == nil {
		return Info{}, false
	}
	return Info{Name: q.name, ARN: q.arn, FIFO: q.fifo, Tags: q.Tags()}, true
}

// Tagged returns the tags of every queue that has tags, by ARN.
func (s *Service) Tagged() map[string]map[string]string {
	tagged := map[string]map[string]string{}
	for _, q := range s.Queues() {
		if tags := q.Tags(); len(tags) > 0 {
			tagged[q.arn] = tags
		}
	}
	return tagged
}
