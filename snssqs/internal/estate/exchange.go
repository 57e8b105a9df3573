package estate

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// subscribersTimeout is how long the producers of a recreated exchange wait for the queues that were subscribed to it.
// Consumers check their subscription in the same interval, so a queue that is not subscribed by then may never be.
const subscribersTimeout = CheckEvery

// lookAgain is the interval between lists of the subscriptions: short while a system starts, later once a minute.
var lookAgain = backoff.Curve{First: time.Second, Max: time.Minute}

// Exchange is what the producers of this process know about the queues that are subscribed to an exchange. If the
// topic and its queues are deleted together, a recreated topic accepts messages before the consumers have recreated
// their queues, and SNS drops messages without a subscriber. A producer that knew of the queues therefore waits for
// them.
type Exchange struct {
	topics *Topics
	log    *slog.Logger
	of     driver.Channel // the exchange
	turn   chan struct{}  // a semaphore: the right to create the topic

	mu       sync.Mutex
	queues   []string      // our queues that were subscribed at the last look
	gone     time.Time     // when the topic was found missing, or was recreated; zero: all known queues are subscribed
	looked   time.Time     // when the last look began
	looks    int           // number of looks so far
	inFlight int           // number of publishes in flight
	making   bool          // the topic is being created: until its queues are subscribed, nothing is published
	settled  chan struct{} // closed when no publish is in flight any more; nil: no goroutine waits for that
}

// Exchanges are the exchanges that producers of this process may create.
type Exchanges struct {
	topics *Topics
	log    *slog.Logger

	mu    sync.Mutex
	known map[driver.Channel]*Exchange
}

// Of returns what is known about an exchange; nil: no producer of this process may recreate it.
func (x *Exchanges) Of(ch driver.Channel) *Exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known[ExchangeOf(ch)]
}

// record returns what is known about an exchange, and begins to record it if necessary.
func (x *Exchanges) record(ch driver.Channel) *Exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.known[ExchangeOf(ch)]
	if a == nil {
		a = &Exchange{topics: x.topics, log: x.log, of: ExchangeOf(ch), turn: make(chan struct{}, 1)}
		x.known[a.of] = a
	}
	return a
}

// Due reports whether the next look is due. The caller then makes it.
func (a *Exchange) Due(now time.Time) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looks > 0 && now.Sub(a.looked) < lookAgain.Wait(a.looks) {
		return false
	}
	a.looked, a.looks = now, a.looks+1
	return true
}

// Look lists the subscribed queues, unless producers are waiting for the queues of a recreated topic.
func (a *Exchange) Look(ctx context.Context, t *Topic) error {
	queues, err := a.topics.subscribed(ctx, a.of, t)
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

// lookIfDue is Look if one is due, with a warning if it fails.
func (a *Exchange) lookIfDue(ctx context.Context, t *Topic) {
	if !a.Due(time.Now()) {
		return
	}
	if err := a.Look(ctx, t); err != nil {
		a.log.Warn("the producer cannot list the subscriptions: it will not wait for queues that were lost",
			"channel", a.of.String(), "error", err)
	}
}

// topicLost records that the topic is missing or was just recreated, so that producers have to wait for the queues.
func (a *Exchange) topicLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone.IsZero() && len(a.queues) > 0 {
		a.gone = time.Now()
	}
}

// complete records that producers need not wait any more. Queues that are not subscribed now are forgotten.
func (a *Exchange) complete(there []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = time.Time{}
	a.queues = slices.DeleteFunc(a.queues, func(q string) bool { return !slices.Contains(there, q) })
}

// missing returns the error for an exchange whose queues are not all subscribed again. It returns nil if they are, or
// if producers have waited long enough.
func (a *Exchange) missing(there []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	away := slices.DeleteFunc(slices.Clone(a.queues), func(q string) bool { return slices.Contains(there, q) })
	left := subscribersTimeout - time.Since(a.gone)
	if a.gone.IsZero() || len(away) == 0 || left <= 0 {
		return nil
	}
	return client.Transient(
		"exchange %s: its topic was missing, and %d of its %d subscriptions are missing (%s): "+
			"nothing is sent until their consumers have created them again, for another %v at most",
		a.of, len(away), len(a.queues), strings.Join(away, ", "), left.Round(time.Second))
}

// ready returns an error until every known queue is subscribed to a recreated topic again.
func (a *Exchange) ready(ctx context.Context, t *Topic) error {
	a.mu.Lock()
	done := a.gone.IsZero()
	a.mu.Unlock()
	if done {
		return nil
	}
	there, err := a.topics.subscribed(ctx, a.of, t)
	if err == nil {
		err = a.missing(there)
	}
	if err == nil {
		a.complete(there)
	}
	return err
}

// Begin begins a publish, which Published ends. It returns an error while the topic is being created, or its queues are
// not subscribed. A nil Exchange is always ready.
func (a *Exchange) Begin(ctx context.Context, t *Topic) error {
	if a == nil {
		return nil
	}
	if err := a.ready(ctx, t); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.making {
		return client.Transient("exchange %s: its topic is being created again", a.of)
	}
	a.inFlight++
	return nil
}

// Published ends a publish.
func (a *Exchange) Published() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inFlight--; a.inFlight == 0 && a.settled != nil {
		close(a.settled)
		a.settled = nil
	}
}

// exclusively runs f while no publish is in flight. A publish between the creation of a topic and its subscriptions
// would be dropped.
func (a *Exchange) exclusively(ctx context.Context, f func() error) error {
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

// CheckEvery is how often a consumer checks that its queue is subscribed with its own filter. The topic may have been
// deleted, and created again by a producer, which does not know the filters.
const CheckEvery = 5 * time.Minute

// ensureTopic creates an exchange's topic, unless there is one (t), and reports whether it exists. A topic that was
// just created gets all queues of the exchange as subscribers. A topic that is missing under a running consumer is left
// to the producers, which know the queues to wait for; it is not needed before they send. If no producer has created
// it, the consumer's next check does.
func (p *Provisioner) ensureTopic(ctx context.Context, s driver.ChannelSpec, t *Topic) (_ *Topic, there bool,
	err error,
) {
	if t != nil && t.Foreign {
		return t, true, nil
	}
	if t != nil {
		return t, true, p.maintainTopic(ctx, s, t)
	}
	name, err := p.TopicName(s.Channel)
	if err != nil {
		return nil, false, err
	}
	if err := p.mistyped(ExchangeOf(s.Channel)); err != nil {
		return nil, false, err
	}
	if s.Owner && s.Again {
		id, err := p.Account.WhoAmI(ctx)
		return &Topic{Name: name, ARN: id.Beside("sns", name)}, false, err
	}
	if t, err = p.makeTopic(ctx, s, name); err != nil {
		return nil, false, err
	}
	return t, true, nil
}

// maintainTopic maintains an existing topic. For a consumer it sets the policy, because the process that created the
// topic may have ended too early; for a producer it lists the subscribed queues.
func (p *Provisioner) maintainTopic(ctx context.Context, s driver.ChannelSpec, t *Topic) error {
	switch {
	case !s.Mode.Creates():
		return nil
	case s.Owner && s.Mode == driver.Declare && s.Channel.Queue == "":
		return p.Topics.declare(ctx, t, s)
	case s.Owner:
		return p.Topics.secure(ctx, t)
	}
	a := p.Exchanges.record(s.Channel)
	a.lookIfDue(ctx, t)
	return a.ready(ctx, t)
}

// makeTopic creates a topic and subscribes the existing queues. A producer waits until the queues that it knew exist.
func (p *Provisioner) makeTopic(ctx context.Context, s driver.ChannelSpec, name string) (t *Topic, err error) {
	a := p.Exchanges.Of(s.Channel)
	if !s.Owner {
		a = p.Exchanges.record(s.Channel)
	}
	create := func() (err error) {
		if t, err = p.Topics.create(ctx, name, s); err != nil {
			return err
		}
		return p.subscribeAll(ctx, t, ExchangeOf(s.Channel))
	}
	if a == nil {
		err = create()
		return t, err
	}
	a.topicLost()
	if s.Owner { // publishes then wait for the other queues
		err = a.exclusively(ctx, create)
		return t, err
	}
	urls, err := p.Queues.ofExchange(ctx, s.Channel)
	if err != nil {
		return nil, err
	}
	there := NamesIn(urls)
	if err := a.missing(there); err != nil {
		return nil, err
	}
	if err := a.exclusively(ctx, create); err != nil {
		return nil, err
	}
	a.complete(there)
	return t, nil
}

// subscribeAll subscribes all our queues of an exchange to its topic, which was just created: SNS drops a message
// without a subscriber. Only the consumers know their filters. Until their next check sets the filter, they discard the
// messages that do not match.
func (p *Provisioner) subscribeAll(ctx context.Context, t *Topic, ch driver.Channel) error {
	urls, err := p.Queues.ofExchange(ctx, ch)
	if err != nil {
		return err
	}
	for _, url := range urls {
		q := &Queue{Name: NameIn(url), URL: url}
		tags, err := p.Queues.TagsOf(ctx, q)
		if err == nil && !managed(tags) {
			continue
		}
		if err == nil {
			err = p.Queues.Load(ctx, q)
		}
		if err != nil {
			return err
		}
		redrive, _ := q.redrive()
		wanted, err := subscriptionAttributes(filterpolicy.Everything, redrive.DeadLetterTargetArn)
		if err == nil {
			err = p.Topics.Subscribe(ctx, t, q.ARN(), wanted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
