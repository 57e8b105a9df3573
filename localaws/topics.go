package localaws

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/godwitmq/godwit/localaws/s3"
	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// queuesOfTopics gives SNS access to SQS, as the service that queue policies name.
type queuesOfTopics struct{ server *Server }

func (q queuesOfTopics) Deliver(queueARN, topicARN string, m sns.QueueMessage) error {
	in := sqs.Incoming{Body: m.Body, Group: m.GroupID, Dedup: m.DeduplicationID, Trace: m.Trace}
	if len(m.Attributes) > 0 {
		in.Attributes = make(map[string]queue.Attribute, len(m.Attributes))
		for name, a := range m.Attributes {
			in.Attributes[name] = queue.Attribute{Type: a.Type, Text: a.Text, Binary: a.Binary}
		}
	}
	from := sqs.Principal{Service: snsPrincipal, SourceARN: topicARN}
	if at, ok := wire.PlaceOf(topicARN); ok {
		from.Account = at.Account
	}
	return q.server.places.named(queueARN).sqs.Deliver(queueARN, from, in)
}

func (q queuesOfTopics) Queue(arn string) (sns.QueueInfo, bool) {
	info, ok := q.server.places.named(arn).sqs.Lookup(arn)
	return sns.QueueInfo{FIFO: info.FIFO}, ok
}

// destinationsOfBuckets gives S3 access to SQS and SNS, as the service that policies name.
type destinationsOfBuckets struct{ server *Server }

// s3Principal is S3 in policies.
const s3Principal = "s3.amazonaws.com"

var errFIFODestination = errors.New("a FIFO queue or topic cannot have notifications of S3")

func (d destinationsOfBuckets) Check(destinationARN string, from s3.Origin) error {
	to := d.server.places.named(destinationARN)
	if wire.IsOf("sns", destinationARN) {
		if fifo, _ := to.sns.FIFO(destinationARN); fifo {
			return errFIFODestination
		}
		return to.sns.Admits(destinationARN,
			sns.Incoming{Service: s3Principal, Source: from.BucketARN, Account: from.Account})
	}
	if info, _ := to.sqs.Lookup(destinationARN); info.FIFO {
		return errFIFODestination
	}
	return to.sqs.Admits(destinationARN, s3Sender(from))
}

func (d destinationsOfBuckets) Deliver(destinationARN string, from s3.Origin, body, trace string) error {
	to := d.server.places.named(destinationARN)
	if wire.IsOf("sns", destinationARN) {
		return to.sns.Deliver(destinationARN, sns.Incoming{
			Service: s3Principal, Source: from.BucketARN, Account: from.Account, Subject: "Amazon S3 Notification",
			Message: body, Trace: trace, BaseURL: d.server.baseURL(),
		})
	}
	return to.sqs.Deliver(destinationARN, s3Sender(from), sqs.Incoming{Body: body, Trace: trace})
}

func s3Sender(from s3.Origin) sqs.Principal {
	return sqs.Principal{Service: s3Principal, SourceARN: from.BucketARN, Account: from.Account}
}

// topicView is a topic in the list of topics.
type topicView struct {
	Name          string             `json:"name"`
	ARN           string             `json:"arn"`
	Account       string             `json:"account"`
	Region        string             `json:"region"`
	FIFO          bool               `json:"fifo"`
	Attributes    map[string]string  `json:"attributes"`
	Tags          map[string]string  `json:"tags,omitempty"`
	Subscriptions []subscriptionView `json:"subscriptions"`
}

// subscriptionView is a subscription in its topic.
type subscriptionView struct {
	ARN        string            `json:"arn"`
	Protocol   string            `json:"protocol"`
	Endpoint   string            `json:"endpoint"`
	Confirmed  bool              `json:"confirmed"`
	Token      string            `json:"token,omitempty"` // the token that confirms it
	Attributes map[string]string `json:"attributes"`
}

// failureView is a delivery that finally failed.
type failureView struct {
	At              time.Time `json:"at"`
	Subscription    string    `json:"subscription"`
	Endpoint        string    `json:"endpoint"`
	MessageID       string    `json:"messageId"`
	Reason          string    `json:"reason"`
	DeadLetterQueue string    `json:"deadLetterQueue,omitempty"`

	number string
}

func listTopics(s *Server, p page, r *http.Request) (map[string]any, error) {
	states, err := everywhere(s.places, r, func(in *services) []sns.TopicState { return in.sns.Topics() })
	if err != nil {
		return nil, err
	}
	some, next := cutPlaces(p, states, func(t *sns.TopicState) string { return t.Name })
	topics := []topicView{}
	for _, t := range some {
		v := topicView{
			Name: t.value.Name, ARN: t.value.ARN, Account: t.at.Account, Region: t.at.Region, FIFO: t.value.FIFO,
			Attributes: t.value.Attributes, Tags: t.value.Tags,
			Subscriptions: []subscriptionView{},
		}
		for _, sub := range t.value.Subscriptions {
			v.Subscriptions = append(v.Subscriptions, subscriptionView{
				ARN: sub.ARN, Protocol: sub.Protocol, Endpoint: sub.Endpoint, Confirmed: sub.Confirmed,
				Token: sub.Token, Attributes: sub.Attributes,
			})
		}
		topics = append(topics, v)
	}
	answer := map[string]any{"topics": topics, "next": next}
	if p.after == "" {
		failures, err := listFailures(s, p, r)
		if err != nil {
			return nil, err
		}
		answer["failures"] = failures["failures"]
	}
	return answer, nil
}

// listFailures lists the failures that SNS keeps, a thousand at most, by their numbers in it.
func listFailures(s *Server, p page, r *http.Request) (map[string]any, error) {
	chosen, err := s.places.choice(r)
	if err != nil {
		return nil, err
	}
	failures := []failureView{}
	for i, f := range s.carrier.Failures() {
		if at, ok := wire.PlaceOf(f.SubscriptionARN); ok && !chosen.has(at) {
			continue
		}
		failures = append(failures, failureView{
			At: f.At.UTC(), Subscription: f.SubscriptionARN, Endpoint: f.Endpoint, MessageID: f.MessageID,
			Reason: f.Reason, DeadLetterQueue: f.DeadLetterQueue, number: fmt.Sprintf("%04d", i),
		})
	}
	some, next := cut(p, failures, func(f *failureView) string { return f.number })
	return map[string]any{"failures": some, "next": next}, nil
}
