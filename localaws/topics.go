package localaws

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/sns"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/tagging"
)

// queuesOfTopics gives SNS access to SQS, as the service that queue policies name.
type queuesOfTopics struct{ sqs *sqs.Service }

func (q queuesOfTopics) Deliver(queueARN, topicARN string, m sns.QueueMessage) error {
	in := sqs.Incoming{Body: m.Body, Group: m.GroupID, Dedup: m.DeduplicationID, Trace: m.Trace}
	if len(m.Attributes) > 0 {
		in.Attributes = make(map[string]queue.Attribute, len(m.Attributes))
		for name, a := range m.Attributes {
			in.Attributes[name] = queue.Attribute{Type: a.Type, Text: a.Text, Binary: a.Binary}
		}
	}
	return q.sqs.Deliver(queueARN, sqs.Principal{Service: "sns.amazonaws.com", SourceARN: topicARN}, in)
}

func (q queuesOfTopics) Queue(arn string) (sns.QueueInfo, bool) {
	info, ok := q.sqs.Lookup(arn)
	return sns.QueueInfo{FIFO: info.FIFO}, ok
}

// destinationsOfBuckets gives S3 access to SQS and SNS, as the service that policies name.
type destinationsOfBuckets struct{ server *Server }

// s3Principal is S3 in policies.
const s3Principal = "s3.amazonaws.com"

var errFIFODestination = errors.New("a FIFO queue or topic cannot have notifications of S3")

func (d destinationsOfBuckets) Check(destinationARN, bucketARN string) error {
	if strings.HasPrefix(destinationARN, "arn:aws:sns:") {
		if fifo, _ := d.server.sns.FIFO(destinationARN); fifo {
			return errFIFODestination
		}
		return d.server.sns.Admits(destinationARN, s3Principal, bucketARN)
	}
	if info, _ := d.server.sqs.Lookup(destinationARN); info.FIFO {
		return errFIFODestination
	}
	return d.server.sqs.Admits(destinationARN, sqs.Principal{Service: s3Principal, SourceARN: bucketARN})
}

func (d destinationsOfBuckets) Deliver(destinationARN, bucketARN, body, trace string) error {
	if strings.HasPrefix(destinationARN, "arn:aws:sns:") {
		return d.server.sns.Deliver(destinationARN, sns.Incoming{
			Service: s3Principal, Source: bucketARN, Subject: "Amazon S3 Notification", Message: body, Trace: trace,
			BaseURL: d.server.baseURL(),
		})
	}
	return d.server.sqs.Deliver(destinationARN, sqs.Principal{Service: s3Principal, SourceARN: bucketARN},
		sqs.Incoming{Body: body, Trace: trace})
}

func (s *Server) taggedQueues() []tagging.Resource {
	var all []tagging.Resource
	for _, q := range s.sqs.Queues() {
		if tags := q.Tags(); len(tags) > 0 {
			all = append(all, tagging.Resource{ARN: q.ARN(), Tags: tags})
		}
	}
	return all
}

func (s *Server) taggedTopics() []tagging.Resource {
	var all []tagging.Resource
	for arn, tags := range s.sns.Tagged() {
		all = append(all, tagging.Resource{ARN: arn, Tags: tags})
	}
	return all
}

// topicView is a topic in the list of topics.
type topicView struct {
	Name          string             `json:"name"`
	ARN           string             `json:"arn"`
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

func (s *Server) listTopics(p page, r *http.Request) (map[string]any, error) {
	states := s.sns.Topics()
	slices.SortFunc(states, func(a, b sns.TopicState) int { return strings.Compare(a.Name, b.Name) })
	some, next := cut(p, states, func(t *sns.TopicState) string { return t.Name })
	topics := []topicView{}
	for _, t := range some {
		v := topicView{
			Name: t.Name, ARN: t.ARN, FIFO: t.FIFO, Attributes: t.Attributes, Tags: t.Tags,
			Subscriptions: []subscriptionView{},
		}
		for _, sub := range t.Subscriptions {
			v.Subscriptions = append(v.Subscriptions, subscriptionView{
				ARN: sub.ARN, Protocol: sub.Protocol, Endpoint: sub.Endpoint, Confirmed: sub.Confirmed,
				Token: sub.Token, Attributes: sub.Attributes,
			})
		}
		topics = append(topics, v)
	}
	answer := map[string]any{"topics": topics, "next": next}
	if p.after == "" {
		failures, err := s.listFailures(p, r)
		if err != nil {
			return nil, err
		}
		answer["failures"] = failures["failures"]
	}
	return answer, nil
}

// listFailures lists the failures that SNS keeps, a thousand at most, by their numbers in it.
func (s *Server) listFailures(p page, _ *http.Request) (map[string]any, error) {
	failures := []failureView{}
	for i, f := range s.sns.Failures() {
		failures = append(failures, failureView{
			At: f.At.UTC(), Subscription: f.SubscriptionARN, Endpoint: f.Endpoint, MessageID: f.MessageID,
			Reason: f.Reason, DeadLetterQueue: f.DeadLetterQueue, number: fmt.Sprintf("%04d", i),
		})
	}
	some, next := cut(p, failures, func(f *failureView) string { return f.number })
	return map[string]any{"failures": some, "next": next}, nil
}
