package estate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// goodFor is how long answers about queues and topics are used again, for the channels that a process opens one after
// another.
const goodFor = time.Minute

// queuesAPage is the most queues that SQS returns in a page of its list.
const queuesAPage = 1000

// Listing is the names of the namespace's queues and of the account's topics, by one request each. It spares lookups,
// but nothing is created because a name is not in it. A list of more than a page, or that is denied, is not known.
type Listing struct {
	sqs    *sqs.Client
	sns    *sns.Client
	prefix *string
	turn   chan struct{} // the right to ask the service

	mu     sync.Mutex
	asked  time.Time
	queues map[string]string // URLs by name; nil: not known
	topics map[string]string // ARNs by name; nil: not known
}

// read asks the service unless it has within the last minute. It fails only if the service does not answer.
func (l *Listing) read(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("list the queues: %w", context.Cause(ctx))
	}
	l.mu.Lock()
	recent := !l.asked.IsZero() && time.Since(l.asked) < goodFor
	l.mu.Unlock()
	if recent {
		return nil
	}
	asked := time.Now()
	var queues, topics map[string]string
	err := client.Concurrently(2, 2, func(i int) (err error) {
		if i == 0 {
			queues, err = l.listQueues(ctx)
		} else {
			topics, err = l.listTopics(ctx)
		}
		return unlessRefused(err)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.queues, l.topics = asked, queues, topics
	return nil
}

// unlessRefused returns no error if the service has refused a list, or does not support it.
func unlessRefused(err error) error {
	if driver.ClassOf(err) == driver.Transient {
		return err
	}
	return nil
}

func (l *Listing) listQueues(ctx context.Context) (map[string]string, error) {
	out, err := l.sqs.ListQueues(ctx, &sqs.ListQueuesInput{
		QueueNamePrefix: l.prefix, MaxResults: aws.Int32(queuesAPage),
	})
	if err != nil {
		return nil, fmt.Errorf("list the queues: %w", client.Failed(err, "sqs:ListQueues"))
	}
	if aws.ToString(out.NextToken) != "" {
		return nil, nil
	}
	queues := make(map[string]string, len(out.QueueUrls))
	for _, url := range out.QueueUrls {
		queues[NameIn(url)] = url
	}
	return queues, nil
}

func (l *Listing) listTopics(ctx context.Context) (map[string]string, error) {
	out, err := l.sns.ListTopics(ctx, &sns.ListTopicsInput{})
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", client.Failed(err, "sns:ListTopics"))
	}
	if aws.ToString(out.NextToken) != "" {
		return nil, nil
	}
	topics := make(map[string]string, len(out.Topics))
	for _, t := range out.Topics {
		arn := aws.ToString(t.TopicArn)
		topics[lastPart(arn, ":")] = arn
	}
	return topics, nil
}

// queue returns the URL of a listed queue; "": it is not listed. It reports whether the queues are known. A nil Listing
// knows nothing.
func (l *Listing) queue(name string) (url string, known bool) {
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues[name], l.queues != nil
}

// lacks reports whether a list of the last minute has no queue of this name.
func (l *Listing) lacks(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queues != nil && l.queues[name] == "" && time.Since(l.asked) < goodFor
}

// topic is queue for a topic's ARN.
func (l *Listing) topic(name string) (arn string, known bool) {
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.topics[name], l.topics != nil
}

// learn adds a topic and queues that exist to the lists that are known. A nil topic or queue is skipped.
func (l *Listing) learn(t *Topic, queues ...*Queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t != nil && l.topics != nil {
		l.topics[t.Name] = t.ARN
	}
	for _, q := range queues {
		if q != nil && l.queues != nil {
			l.queues[q.Name] = q.URL
		}
	}
}
