package sns

import (
	"log/slog"

	"github.com/godwitmq/godwit/localaws/access"
	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what a Service needs. Account, Region, Clock, Random, Queues and Carrier are required.
type Options struct {
	Account string
	Region  string
	Clock   *clock.Clock
	Random  *random.Source
	Queues  Queues
	Logger  *slog.Logger // nil: nothing is logged
	Carrier *Carrier     // shared with the services of other places
	// Leniency lets callers of other accounts do what no policy denies; nil: policies decide.
	Leniency *access.Leniency
	// Others returns the services of other accounts in the region; nil: there are none.
	Others func() []*Service
	// Missing is called with the ARN of a topic that a call names and that is not in the service; nil: nobody wants to
	// know.
	Missing func(arn string)
	// Woken is called when a topic that nobody counts has a call; nil: nothing is counted. It may be called with the
	// service's lock held, and must not call the service.
	Woken func(Metered)
	// Store is where topics and subscriptions are kept; nil: in memory alone.
	Store keep.Store
}

// Queues is the part of SQS that SNS needs.
type Queues interface {
	// Deliver puts a message into a queue for a topic. It returns an error if the queue does not exist, or if the
	// queue's policy has no statement that allows the topic.
	Deliver(queueARN, topicARN string, m QueueMessage) error
	// Queue describes a queue; ok is false if it does not exist.
	Queue(arn string) (q QueueInfo, ok bool)
}

// QueueInfo is what SNS needs to know about a queue.
type QueueInfo struct {
	FIFO bool
}

// QueueMessage is a message for a queue.
type QueueMessage struct {
	Body            string
	Attributes      map[string]Attribute // nil unless delivery is raw
	GroupID         string               // "": neither the queue nor the topic has one
	DeduplicationID string               // FIFO queues only
	Trace           string               // AWSTraceHeader; "": none
}

// Attribute is a message attribute. Type is String, Number or Binary, with an optional label after a dot.
type Attribute struct {
	Type   string
	Text   string // of String and Number
	Binary []byte // of Binary
}

// Service is the model of SNS in one place. It is safe for concurrent use.
type Service struct {
	*registry
	out *sender
}

// New returns a service without topics.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &registry{opts: o, carrier: o.Carrier, records: records{o.Store}}
	r.empty()
	return &Service{registry: r, out: &sender{r, o.Logger}}
}

// Wire returns the service's actions, whatever place a call is for.
func (s *Service) Wire() *wire.Service {
	return Wire(func(*wire.Call) (*Service, error) { return s, nil })
}

// Reset removes every topic and subscription, and cancels deliveries that wait for another attempt.
func (s *Service) Reset() {
	s.mu.Lock()
	for _, sub := range s.subscriptions {
		s.records.dropSubscription(sub)
	}
	for _, sub := range s.tokens {
		s.records.dropSubscription(sub)
	}
	for _, t := range s.topics {
		s.records.dropTopic(t)
	}
	s.empty()
	s.mu.Unlock()
	s.carrier.forget(s.place())
}

// Close removes every topic and subscription from memory, and cancels deliveries that wait for another attempt. The
// store keeps what it has.
func (s *Service) Close() {
	s.mu.Lock()
	s.records = records{}
	s.mu.Unlock()
	s.Reset()
}
