package snssqs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// reunion is how long an exchange that was gone waits for the queues that were subscribed to it. Their consumers
// check them as often; what has not come back by then may never come.
const reunion = checkEvery

// lookAgain spaces the looks at who is subscribed: often while a system starts, then once a minute.
var lookAgain = backoff.Curve{First: time.Second, Max: time.Minute}

// audience is what producers of this process know of the queues that are subscribed to an exchange. When topic and
// queues vanish together, a topic that was made again takes messages before its consumers have made their queues
// again: SNS accepts what nobody gets. So a producer that knew of queues waits for them.
type audience struct {
	of   driver.Channel // the exchange
	turn chan struct{}  // holds one: the right to make the topic

	mu      sync.Mutex
	queues  []string      // names of ours that were subscribed when last looked at
	gone    time.Time     // when the topic was found gone, or made again; zero: all is well
	looked  time.Time     // when the last look began
	looks   int           // so far
	under   int           // publishes under way
	making  bool          // the topic is being made: until its queues are subscribed nothing is published
	settled chan struct{} // closed when the last of under has ended; nil: nobody waits for that
}

// audienceOf is what is known of an exchange; nil: no producer of this process may make it again.
func (b *Backend) audienceOf(ch driver.Channel) *audience {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.audiences[exchange(ch)]
}

// attend begins to know an exchange.
func (b *Backend) attend(ch driver.Channel) *audience {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.audiences[exchange(ch)]
	if a == nil {
		a = &audience{of: exchange(ch), turn: make(chan struct{}, 1)}
		b.audiences[a.of] = a
	}
	return a
}

// due says whether it is time for another look, which the caller then makes.
func (a *audience) due(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looks > 0 && now.Sub(a.looked) < lookAgain.Wait(a.looks) {
		return false
	}
	a.looked, a.looks = now, a.looks+1
	return true
}

// look learns who is subscribed, unless a topic that was gone waits for those who were.
func (b *Backend) look(ctx context.Context, a *audience, t *topic) error {
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

// subscribed are the queues of ours that a topic sends to.
func (b *Backend) subscribed(ctx context.Context, ch driver.Channel, t *topic) (queues []string, err error) {
	pages := sns.NewListSubscriptionsByTopicPaginator(b.sns, &sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, t.at())
		if err != nil {
			return nil, fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
				permission(classify(err), "sns:ListSubscriptionsByTopic"))
		}
		for _, s := range page.Subscriptions {
			at, _ := parseARN(deref(s.Endpoint))
			if b.ours(at.name, ch) {
				queues = append(queues, at.name)
			}
		}
	}
	return queues, nil
}

// ours says whether a queue is called as those of an exchange are.
func (b *Backend) ours(queue string, ch driver.Channel) bool {
	of, ok := b.namespace.channel(queue)
	return ok && !of.DeadLetter && of.Exchange == ch.Exchange && of.Ordered == ch.Ordered
}

// lost notes that the topic is gone or was just made again: what is published has to wait for the queues.
func (a *audience) lost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone.IsZero() && len(a.queues) > 0 {
		a.gone = time.Now()
	}
}

// whole notes that nothing has to be waited for any more: what is not there now is no longer known.
func (a *audience) whole(there []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = time.Time{}
	a.queues = slices.DeleteFunc(a.queues, func(q string) bool { return !slices.Contains(there, q) })
}

// missing is the error of an exchange whose queues have not all come back; nil: they have, or were waited for long
// enough.
func (a *audience) missing(there []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	away := slices.DeleteFunc(slices.Clone(a.queues), func(q string) bool { return slices.Contains(there, q) })
	left := reunion - time.Since(a.gone)
	if a.gone.IsZero() || len(away) == 0 || left <= 0 {
		return nil
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
		"exchange %s: its topic was gone, and %d of its %d subscriptions are missing (%s): "+
			"nothing is sent until their consumers have made them again, for another %v at most",
		a.of, len(away), len(a.queues), strings.Join(away, ", "), left.Round(time.Second))}
}

// ready says whether a topic that was gone may be published to: every queue that was subscribed is subscribed again.
func (b *Backend) ready(ctx context.Context, a *audience, t *topic) error {
	a.mu.Lock()
	well := a.gone.IsZero()
	a.mu.Unlock()
	if well {
		return nil
	}
	there, err := b.subscribed(ctx, a.of, t)
	if err == nil {
		err = a.missing(there)
	}
	if err == nil {
		a.whole(there)
	}
	return err
}

// publishing begins a publish, unless the topic is being made.
func (a *audience) publishing() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making {
		return &driver.Error{
			Class: driver.Transient,
			Err:   fmt.Errorf("exchange %s: its topic is being made again", a.of),
		}
	}
	a.under++
	return nil
}

func (a *audience) published() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.under--; a.under == 0 && a.settled != nil {
		close(a.settled)
		a.settled = nil
	}
}

// alone runs f while nothing is published: a publish between the making of a topic and its subscriptions would reach
// nobody.
func (a *audience) alone(ctx context.Context, f func() error) error {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	a.mu.Lock()
	a.making = true
	if a.under > 0 {
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
