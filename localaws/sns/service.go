package sns

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Options are what a Service needs. Account, Region, Clock, Random and Queues are required.
type Options struct {
	Account string
	Region  string
	Clock   *clock.Clock
	Random  *random.Source
	Queues  Queues
	Logger  *slog.Logger // nil: nothing is logged
	// HTTP carries deliveries to http and https endpoints; nil: a transport of the service's own, which connects only
	// to Endpoints.
	HTTP      http.RoundTripper
	Endpoints *Endpoints // nil: this machine
	// Woken is called when a topic that nobody counts has a call; nil: nothing is counted. It may be called with the
	// service's lock held, and must not call the service.
	Woken func(Metered)
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

// Service is the model of SNS. It is safe for concurrent use.
type Service struct {
	opts   Options
	log    *slog.Logger
	client *http.Client
	signer signer

	mu            sync.RWMutex
	created       uint64 // numbers topics and subscriptions in order of creation
	topics        map[string]*topic
	subscriptions map[string]*subscription
	tokens        map[string]*subscription // confirmation tokens and their subscriptions
	failures      []Failure
	attempts      map[uint64]func() // functions that stop a wait for the next attempt
	outbox        outbox
	unsent        unsent // has its own lock

	life    context.Context // ends with Close
	end     context.CancelFunc
	working sync.WaitGroup // goroutines that deliver over HTTP
}

// New returns a service without topics.
func New(o Options) *Service {
	s := &Service{opts: o, log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	carrier := o.HTTP
	if carrier == nil {
		carrier = cmp.Or(o.Endpoints, &Endpoints{}).transport()
	}
	s.client = &http.Client{
		Transport: carrier,
		// SNS does not follow redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.empty()
	return s
}

// Wire returns the service's actions.
func (s *Service) Wire() *wire.Service {
	return &wire.Service{
		Name:    "sns",
		Version: "2010-03-31",
		XMLNS:   "http://sns.amazonaws.com/doc/2010-03-31/",
		Actions: []wire.Action{
			wire.Op("AddPermission", s.addPermission),
			wire.Op("ConfirmSubscription", s.confirmSubscription),
			wire.Op("CreateTopic", s.createTopic),
			wire.Op("DeleteTopic", s.deleteTopic),
			wire.Op("GetSubscriptionAttributes", s.getSubscriptionAttributes),
			wire.Op("GetTopicAttributes", s.getTopicAttributes),
			wire.Op("ListSubscriptions", s.listSubscriptions),
			wire.Op("ListSubscriptionsByTopic", s.listSubscriptionsByTopic),
			wire.Op("ListTagsForResource", s.listTagsForResource),
			wire.Op("ListTopics", s.listTopics),
			wire.Op("Publish", s.publish),
			wire.Op("PublishBatch", s.publishBatch),
			wire.Op("RemovePermission", s.removePermission),
			wire.Op("SetSubscriptionAttributes", s.setSubscriptionAttributes),
			wire.Op("SetTopicAttributes", s.setTopicAttributes),
			wire.Op("Subscribe", s.subscribe),
			wire.Op("TagResource", s.tagResource).WithResult(),
			wire.Op("Unsubscribe", s.unsubscribe),
			wire.Op("UntagResource", s.untagResource).WithResult(),
		},
	}
}

// Reset removes every topic and subscription, and cancels deliveries that wait for another attempt.
func (s *Service) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty()
}

// Close cancels deliveries over HTTP, and waits for the attempts that are running.
func (s *Service) Close() {
	s.mu.Lock()
	s.end() // from here on no delivery starts
	s.empty()
	s.mu.Unlock()
	s.working.Wait()
	s.client.CloseIdleConnections()
}

func (s *Service) empty() {
	for _, stop := range s.attempts {
		stop()
	}
	s.outbox.clear()
	s.unsent.clear()
	s.topics = map[string]*topic{}
	s.subscriptions = map[string]*subscription{}
	s.tokens = map[string]*subscription{}
	s.attempts = map[uint64]func(){}
	s.failures = nil
}
