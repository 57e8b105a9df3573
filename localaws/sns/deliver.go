package sns

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// sender delivers messages to subscriptions.
type sender struct {
	*registry
	log *slog.Logger
}

// recipients is a topic and its subscriptions at the beginning of a publish.
type recipients struct {
	topic       *topic // only its immutable fields may be read
	maximumSize int
	signature   string
	group       bool // deduplication is within a message group
	dedupByText bool
	delivery    topicDelivery
	members     []recipient
}

// recipient is one subscription of recipients.
type recipient struct {
	sub      *subscription // only its immutable fields may be read
	settings *settings
}

// recipientsOf returns the subscriptions that a publish delivers to.
func (r *registry) recipientsOf(arn string) (*recipients, *wire.Error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, fault := r.topic(arn)
	if fault != nil {
		return nil, fault
	}
	a := &recipients{
		topic: t, maximumSize: t.maximumSize(), signature: t.signatureVersion(), delivery: t.delivery,
		group: t.attributes[fifoThroughputScope] == "MessageGroup", dedupByText: t.contentBasedDeduplication(),
		members: make([]recipient, 0, len(t.subscriptions)),
	}
	for _, sub := range t.subscriptions {
		if sub.confirmed {
			a.members = append(a.members, recipient{sub, sub.settings})
		}
	}
	return a, nil
}

// publishTo delivers an accepted message to every subscription whose filter lets it pass. If ctx ends before the
// filters are checked, which may take long, the message is not published.
func (s *sender) publishTo(ctx context.Context, a *recipients, m *message, baseURL string) error {
	wanted, err := a.wanted(ctx, m)
	if err == nil {
		s.send(a, m, wanted, baseURL)
	}
	return err
}

// wanted returns which members get a message. It is called without a lock.
func (a *recipients) wanted(ctx context.Context, m *message) ([]bool, error) {
	wanted := make([]bool, len(a.members))
	for i, to := range a.members {
		wanted[i] = to.wants(ctx, m)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func (s *sender) send(a *recipients, m *message, wanted []bool, baseURL string) {
	a.topic.meter.countMessage(m.size)
	now := s.opts.Clock.Now()
	m.timestamp = now.UTC().Format(timestampForm)
	if a.topic.fifoOrder == nil {
		m.id = s.opts.Random.UUID()
		s.carrier.record(s.fanOut(a, m, wanted, baseURL))
		return
	}
	key := m.dedup
	if a.group {
		key = m.group + "\x00" + key
	}
	s.carrier.record(s.sendFIFO(a, m, key, wanted, baseURL))
}

// sendFIFO delivers a message of a FIFO topic, unless it is a duplicate.
func (s *sender) sendFIFO(a *recipients, m *message, key string, wanted []bool, baseURL string) []Failure {
	l := a.topic.fifoOrder
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.take(m, key, s.opts.Clock.Now(), s.opts.Random.UUID) {
		return nil
	}
	defer l.delivered()
	return s.fanOut(a, m, wanted, baseURL)
}

// fanOut delivers to all queues and starts the deliveries over HTTP. It returns the deliveries that have already
// failed.
func (s *sender) fanOut(a *recipients, m *message, wanted []bool, baseURL string) []Failure {
	var failures []Failure
	n := &notification{topic: a.topic, message: m, version: a.signature, baseURL: baseURL, signer: &s.carrier.signer}
	for i, to := range a.members {
		if !wanted[i] {
			a.topic.meter.countFiltered(to.settings.scope, len(m.attributes))
			continue
		}
		if p := to.sub.of(); p.overHTTP {
			s.deliverOverHTTP(n, to, to.settings.delivery.over(a.delivery))
		} else if !p.delivered {
			s.keepNotification(n, to)
		} else if err := s.intoQueue(n, to, to.sub.endpoint); err != nil {
			failures = append(failures, s.deadLetter(n, to, err.Error()))
		} else {
			n.topic.meter.countDelivery()
		}
	}
	return failures
}

func (to recipient) wants(ctx context.Context, m *message) bool {
	f := to.settings.filter
	switch {
	case f == nil:
		return true
	case to.settings.scope == filter.MessageBody:
		return f.MatchBody(ctx, m.textFor(to.sub.protocol))
	}
	return f.MatchAttributes(m.seen)
}

// maxRawAttributes is the most attributes of an SQS message. SNS drops a raw delivery with more.
const maxRawAttributes = 10

var errTooManyAttributes = errors.New("a raw delivery cannot carry more than 10 message attributes")

// intoQueue puts the notification into the subscription's queue or its dead-letter queue.
func (s *sender) intoQueue(n *notification, to recipient, queue string) error {
	if to.settings.raw && len(n.message.attributes) > maxRawAttributes {
		return errTooManyAttributes
	}
	return s.opts.Queues.Deliver(queue, n.topic.arn, n.forQueue(to, queue))
}

// forQueue returns the message for a queue: the subscribed one, or its dead-letter queue.
func (n *notification) forQueue(to recipient, queue string) QueueMessage {
	q := QueueMessage{GroupID: n.message.group, Trace: n.message.trace}
	switch fifoQueue := strings.HasSuffix(queue, ".fifo"); {
	case fifoQueue:
		q.DeduplicationID = n.message.dedup
	case n.topic.fifo:
		q.GroupID = "" // a standard queue subscribed to a FIFO topic does not get the group
	}
	if to.settings.raw {
		q.Body = n.message.textFor(to.sub.protocol)
		q.Attributes = n.message.attributes
		return q
	}
	q.Body = n.envelope(to)
	return q
}

// Failure is a delivery that finally failed.
type Failure struct {
	At              time.Time
	SubscriptionARN string
	Endpoint        string
	MessageID       string
	Reason          string
	DeadLetterQueue string // where the message went instead; "": the message is lost
}

// place returns the place of the subscription's topic.
func (f *Failure) place() wire.Place {
	p, _ := wire.PlaceOf(f.SubscriptionARN)
	return p
}

// maxFailures is how many failures are kept; the oldest are dropped.
const maxFailures = 1000

// deadLetter sends a message that could not be delivered to the subscription's dead-letter queue, if it has one.
func (s *sender) deadLetter(n *notification, to recipient, reason string) (f Failure) {
	defer func() { n.topic.meter.countFailure(f, to.settings.deadLetter != "") }()
	f = Failure{
		At: s.opts.Clock.Now(), SubscriptionARN: to.sub.arn, Endpoint: to.sub.endpoint,
		MessageID: n.message.id, Reason: reason,
	}
	dead := to.settings.deadLetter
	if dead == "" {
		return f
	}
	if err := s.intoQueue(n, to, dead); err != nil {
		f.Reason += "; its dead-letter queue " + dead + " refused it too: " + err.Error()
		return f
	}
	f.DeadLetterQueue = dead
	return f
}
