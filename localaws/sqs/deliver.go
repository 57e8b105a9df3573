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
	set := q.settings.Load()
	if !s.admits(q, set, from) {
		return &DeniedError{QueueARN: q.arn, From: from}
	}
	if m.Sender == "" {
		m.Sender = from.Service
	}
	put, err := s.incoming(q, set, m)
	if err != nil {
		return fmt.Errorf("deliver to %s: %w", queueARN, err)
	}
	_, failure := q.model.Put(put)
	if failure != nil {
		return fmt.Errorf("deliver to %s: %w", queueARN, modelError(failure))
	}
	return nil
}

// admits reports whether the queue's policy allows a delivery.
func (s *Service) admits(q *Queue, set *settings, from Principal) bool {
	if set.policy == nil && s.opts.Leniency != nil {
		return s.opts.Leniency.Permits((&DeniedError{QueueARN: q.arn, From: from}).Error())
	}
	return set.policy.allows(access.Request{
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
	case !s.admits(q, q.settings.Load(), from):
		return &DeniedError{QueueARN: q.arn, From: from}
	}
	return nil
}

// incoming checks a delivery by the rules for sent messages.
func (s *Service) incoming(q *Queue, set *settings, m Incoming) (queue.Put, error) {
	o := &outgoing{body: m.Body, trace: m.Trace}
	if m.Group != "" {
		o.group = &m.Group
	}
	if m.Dedup != "" {
		o.dedup = &m.Dedup
	}
	for name, a := range m.Attributes {
		v := attributeValue{DataType: a.Type, BinaryValue: a.Binary}
		if a.Binary == nil {
			v.StringValue = &a.Text
		}
		if o.attributes == nil {
			o.attributes = map[string]attributeValue{}
		}
		o.attributes[name] = v
	}
	put, bad := s.message(q, set, o, m.Sender)
	if bad != nil {
		return queue.Put{}, bad
	}
	return put, nil
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
