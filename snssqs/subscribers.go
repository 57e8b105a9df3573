package snssqs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// subscribersTimeout is how long the producers of a recreated exchange wait for the queues that were subscribed to it.
// Consumers check their subscription in the same interval, so a queue that is not subscribed by then may never be.
const subscribersTimeout = checkEvery

// lookAgain is the interval between lists of the subscriptions: short while a system starts, later once a minute.
var lookAgain = backoff.Curve{First: time.Second, Max: time.Minute}

// subscribers is what the producers of this process know about the queues that are subscribed to an exchange. If the
// topic and its queues are deleted together, a recreated topic accepts messages before the consumers have recreated
// their queues, and SNS drops messages without a subscriber. A producer that knew of the queues therefore waits for
// them.
type subscribers struct {
	of   driver.Channel // the exchange
	turn chan struct{}  // a semaphore: the right to create the topic

	mu       sync.Mutex
	queues   []string      // our queues that were subscribed at the last look
	gone     time.Time     // when the topic was found missing, or was recreated; zero: all known queues are subscribed
	looked   time.Time     // when the last look began
	looks    int           // number of looks so far
	inFlight int           // number of publishes in flight
	making   bool          // the topic is being created: until its queues are subscribed, nothing is published
	settled  chan struct{} // closed when no publish is in flight any more; nil: no goroutine waits for that
}

// subscribersOf returns what is known about an exchange; nil: no producer of this process may recreate it.
func (b *Backend) subscribersOf(ch driver.Channel) *subscribers {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.subscribers[exchange(ch)]
}

// recordSubscribers returns what is known about an exchange, and begins to record it if necessary.
func (b *Backend) recordSubscribers(ch driver.Channel) *subscribers {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.subscribers[exchange(ch)]
	if a == nil {
		a = &subscribers{of: exchange(ch), turn: make(chan struct{}, 1)}
		b.subscribers[a.of] = a
	}
	return a
}

// due reports whether the next look is due. The caller then makes it.
func (a *subscribers) due(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looks > 0 && now.Sub(a.looked) < lookAgain.Wait(a.looks) {
		return false
	}
	a.looked, a.looks = now, a.looks+1
	return true
}

// look lists the subscribed queues, unless producers are waiting for the queues of a recreated topic.
func (b *Backend) look(ctx context.Context, a *subscribers, t *topic) error {
	queues, err := b.subscribed(ctx, a.of, t)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone.IsZero() {
		a.queues = queues
	}
	return nil
}

// subscribed returns our queues that are subscribed to a topic.
func (b *Backend) subscribed(ctx context.Context, ch driver.Channel, t *topic) (queues []string, err error) {
	pages := sns.NewListSubscriptionsByTopicPaginator(b.clients.SNS,
		&sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, t.at())
		if err != nil {
			return nil, fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
				client.Failed(err, "sns:ListSubscriptionsByTopic"))
		}
		for _, s := range page.Subscriptions {
			at, _ := parseARN(aws.ToString(s.Endpoint))
			if b.ours(at.name, ch) {
				queues = append(queues, at.name)
			}
		}
	}
	return queues, nil
}

// ours reports whether a queue is named as a queue of the exchange.
func (b *Backend) ours(queue string, ch driver.Channel) bool {
	of, ok := b.namespace.channel(queue)
	return ok && !of.DeadLetter && of.Exchange == ch.Exchange && of.Ordered == ch.Ordered
}

// topicLost records that the topic is missing or was just recreated, so that producers have to wait for the queues.
func (a *subscribers) topicLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone.IsZero() && len(a.queues) > 0 {
		a.gone = time.Now()
	}
}

// complete records that producers need not wait any more. Queues that are not subscribed now are forgotten.
func (a *subscribers) complete(there []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = time.Time{}
	a.queues = slices.DeleteFunc(a.queues, func(q string) bool { return !slices.Contains(there, q) })
}

// missing returns the error for an exchange whose queues are not all subscribed again. It returns nil if they are, or
// if producers have waited long enough.
func (a *subscribers) missing(there []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	away := slices.DeleteFunc(slices.Clone(a.queues), func(q string) bool { return slices.Contains(there, q) })
	left := subscribersTimeout - time.Since(a.gone)
	if a.gone.IsZero() || len(away) == 0 || left <= 0 {
		return nil
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
		"exchange %s: its topic was missing, and %d of its %d subscriptions are missing (%s): "+
			"nothing is sent until their consumers have created them again, for another %v at most",
		a.of, len(away), len(a.queues), strings.Join(away, ", "), left.Round(time.Second))}
}

// ready returns an error until every known queue is subscribed to a recreated topic again.
func (b *Backend) ready(ctx context.Context, a *subscribers, t *topic) error {
	a.mu.Lock()
	done := a.gone.IsZero()
	a.mu.Unlock()
	if done {
		return nil
	}
	there, err := b.subscribed(ctx, a.of, t)
	if err == nil {
		err = a.missing(there)
	}
	if err == nil {
		a.complete(there)
	}
	return err
}

// publishing begins a publish. It returns an error while the topic is being created.
func (a *subscribers) publishing() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making {
		return &driver.Error{
			Class: driver.Transient,
			Err:   fmt.Errorf("exchange %s: its topic is being created again", a.of),
		}
	}
	a.inFlight++
	return nil
}

func (a *subscribers) published() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inFlight--; a.inFlight == 0 && a.settled != nil {
		close(a.settled)
		a.settled = nil
	}
}

// exclusively runs f while no publish is in flight. A publish between the creation of a topic and its subscriptions
// would be dropped.
func (a *subscribers) exclusively(ctx context.Context, f func() error) error {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	a.mu.Lock()
	a.making = true
	if a.inFlight > 0 {
		a.settled = make(chan struct{})
	}
	settled := a.settled
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.making = false
		a.mu.Unlock()
	}()
	if settled != nil {
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f()
}
