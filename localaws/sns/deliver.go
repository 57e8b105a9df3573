package sns

import (
	"errors"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// audience is a topic and its subscriptions as they were when a publish began.
type audience struct {
	topic       *topic // only what never changes may be read from it
	maximumSize int
	signature   string
	group       bool // deduplication is by message group
	dedupByText bool
	delivery    topicDelivery
	members     []member
}

// member is one subscription of an audience.
type member struct {
	sub      *subscription // only what never changes may be read from it
	settings *settings
}

// audienceOf takes the picture that a publish works on.
func (s *Service) audienceOf(arn string) (*audience, *wire.Error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	a := &audience{
		topic: t, maximumSize: t.maximumSize(), signature: t.signatureVersion(), delivery: t.delivery,
		group: t.attributes[fifoThroughputScope] == "MessageGroup", dedupByText: t.contentBasedDeduplication(),
		members: make([]member, 0, len(t.subscriptions)),
	}
	for _, sub := range t.subscriptions {
		if sub.confirmed {
			a.members = append(a.members, member{sub, sub.settings})
		}
	}
	return a, nil
}

// send delivers an accepted message to everybody whose filter lets it pass.
func (s *Service) send(a *audience, m *message, baseURL string) {
	now := s.opts.Clock.Now()
	m.timestamp = now.UTC().Format(timestampForm)
	if a.topic.line == nil {
		m.id = s.opts.Random.UUID()
		s.record(s.fanOut(a, m, baseURL))
		return
	}
	key := m.dedup
	if a.group {
		key = m.group + "\x00" + key
	}
	s.record(s.inLine(a, m, key, baseURL))
}

// inLine delivers a message of a FIFO topic, unless it is a duplicate.
func (s *Service) inLine(a *audience, m *message, key, baseURL string) []Failure {
	l := a.topic.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.take(m, key, s.opts.Clock.Now(), s.opts.Random.UUID) {
		return nil
	}
	return s.fanOut(a, m, baseURL)
}

// fanOut delivers to all queues and starts the deliveries over HTTP. It returns what failed at once.
func (s *Service) fanOut(a *audience, m *message, baseURL string) []Failure {
	var failures []Failure
	n := &notification{topic: a.topic, message: m, version: a.signature, baseURL: baseURL, signer: &s.signer}
	for _, to := range a.members {
		if !to.wants(m) {
			continue
		}
		if to.sub.protocol != "sqs" {
			s.deliverOverHTTP(n, to, to.settings.delivery.over(a.delivery))
		} else if err := s.intoQueue(n, to, to.sub.endpoint); err != nil {
			failures = append(failures, s.bury(n, to, err.Error()))
		}
	}
	return failures
}

func (to member) wants(m *message) bool {
	f := to.settings.filter
	switch {
	case f == nil:
		return true
	case to.settings.scope == filter.MessageBody:
		return f.MatchBody(m.textFor(to.sub.protocol))
	}
	return f.MatchAttributes(m.seen)
}

// maxRawAttributes is how many attributes fit into an SQS message; SNS drops a raw delivery of more.
const maxRawAttributes = 10

var errTooManyAttributes = errors.New("a raw delivery cannot carry more than 10 message attributes")

// intoQueue puts the notification into the subscription's queue or its dead-letter queue.
func (s *Service) intoQueue(n *notification, to member, queue string) error {
	if to.settings.raw && len(n.message.attributes) > maxRawAttributes {
		return errTooManyAttributes
	}
	return s.opts.Queues.Deliver(queue, n.topic.arn, n.forQueue(to, queue))
}

// forQueue is the message as it lies in a queue: the subscribed one, or its dead-letter queue.
func (n *notification) forQueue(to member, queue string) QueueMessage {
	q := QueueMessage{GroupID: n.message.group, Trace: n.message.trace}
	switch fifoQueue := strings.HasSuffix(queue, ".fifo"); {
	case fifoQueue:
		q.DeduplicationID = n.message.dedup
	case n.topic.fifo:
		q.GroupID = "" // a standard queue of a FIFO topic does not learn the group
	}
	if to.settings.raw {
		q.Body = n.message.textFor(to.sub.protocol)
		q.Attributes = n.message.attributes
		return q
	}
	q.Body = n.envelope(to)
	return q
}
