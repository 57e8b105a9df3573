package estate

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// survey is what exists of a channel. It is read at once, before anything is changed.
type survey struct {
	topic         *Topic // nil: it does not exist, or is not the channel's to ask for
	queue, dead   tagged
	subscriptions map[string]string // ARNs by endpoint, as far as they are known
}

// tagged is a queue with its tags, which only an owner reads; nil: there is no queue.
type tagged struct {
	*Queue
	tags map[string]string
}

// Surveyor reads what exists of channels, and keeps answers for what is opened next.
type Surveyor struct {
	*Estate
	exchanges *Exchanges

	ensured sync.Map // a *Queue or *Topic by channel, that Ensure has found, for the sender that is opened next

	// The answers of the last minute, for the consumers and producers that are made next.
	queues        recent[driver.Channel, *Queue]
	topics        recent[driver.Channel, *Topic]    // by exchange
	subscriptions recent[string, map[string]string] // by the topic's ARN: as in survey
}

// survey reads what exists of a channel. With a listing, resources are where it says, and a missing one is an error;
// without one, each name is looked up.
func (y *Surveyor) survey(ctx context.Context, s driver.ChannelSpec, l *Listing) (*survey, error) {
	v := &survey{}
	looks := []func() error{
		func() error { return y.nameConflict(ctx, s.Channel, l) },
	}
	if s.Channel.Exchange != "" && (s.Owner || s.Channel.Queue == "") {
		looks = append(looks, func() error { return y.topic(ctx, s, l, v) })
	}
	if s.Channel.Queue != "" {
		looks = append(looks, func() (err error) {
			v.queue, err = y.queue(ctx, s, s.Channel, l)
			return err
		})
	}
	if s.Channel.Queue != "" && s.Owner && !s.NoDeadLetters {
		looks = append(looks, func() (err error) {
			v.dead, err = y.queue(ctx, s, DeadLettersOf(s.Channel), l)
			return err
		})
	}
	errs := make([]error, len(looks))
	_ = client.Concurrently(len(looks), len(looks), func(i int) error {
		errs[i] = looks[i]()
		return nil // the first one is reported, not the one that is answered first
	})
	return v, cmp.Or(errs...)
}

// listed returns the listing if it knows of no missing resource of a channel; nil: the names have to be looked up.
func (y *Surveyor) listed(s driver.ChannelSpec) *Listing {
	lacks := func(name string, err error, list func(string) (string, bool)) bool {
		at, known := list(name)
		return err != nil || known && at == ""
	}
	if s.Channel.Exchange != "" && (s.Owner || s.Channel.Queue == "") {
		name, err := y.TopicName(s.Channel)
		if _, foreign := y.Mapping(ExchangeOf(s.Channel)); !foreign && lacks(name, err, y.Listing.topic) {
			return nil
		}
	}
	if s.Channel.Queue == "" {
		return y.Listing
	}
	name, err := y.QueueName(s.Channel)
	if lacks(name, err, y.Listing.queue) {
		return nil
	}
	if s.Owner && !s.NoDeadLetters {
		if name, err = y.QueueName(DeadLettersOf(s.Channel)); lacks(name, err, y.Listing.queue) {
			return nil
		}
	}
	return y.Listing
}

// queue reads a queue. A producer needs no newer answer than that of the last minute.
func (y *Surveyor) queue(ctx context.Context, s driver.ChannelSpec, ch driver.Channel, l *Listing) (
	tagged, error,
) {
	if q, known := y.queues.of(ch); known && l != nil && !s.Owner {
		return tagged{q, nil}, nil
	}
	name, err := y.QueueName(ch)
	if err != nil {
		return tagged{}, err
	}
	var one tagged
	if url, _ := l.queue(name); url != "" {
		one.Queue, one.tags, err = y.Queues.loadTagged(ctx, &Queue{Name: name, URL: url}, s.Owner)
	} else {
		one.Queue, one.tags, err = y.Queues.findTagged(ctx, name, s.Owner)
	}
	if err == nil {
		return one, nil
	}
	if l == nil {
		err = client.Ignore(err, driver.NotFound)
	}
	return tagged{}, err
}

// topic reads the topic of a channel's exchange. If it is listed, the subscriptions are read at the same time.
func (y *Surveyor) topic(ctx context.Context, s driver.ChannelSpec, l *Listing, v *survey) (err error) {
	_, foreign := y.Mapping(ExchangeOf(s.Channel))
	name, err := y.TopicName(s.Channel)
	if err != nil {
		return err
	}
	arn, _ := l.topic(name)
	if foreign || arn == "" {
		v.topic, err = y.Topics.Of(ctx, s.Channel)
		if l == nil && !foreign {
			err = client.Ignore(err, driver.NotFound)
		}
		return err
	}
	t := &Topic{Name: name, ARN: arn}
	return client.Concurrently(2, 2, func(i int) (err error) {
		switch {
		case i == 0:
			v.topic, err = y.knownTopic(ctx, s.Channel, t)
		case !s.Owner:
			y.exchanges.record(s.Channel).lookIfDue(ctx, t)
		case s.Channel.Queue != "":
			v.subscriptions = y.someSubscriptions(ctx, t)
		}
		return err
	})
}

// knownTopic is a topic with the attributes that it had within the last minute.
func (y *Surveyor) knownTopic(ctx context.Context, ch driver.Channel, at *Topic) (*Topic, error) {
	if t, known := y.topics.of(ExchangeOf(ch)); known {
		return t.clone(), nil
	}
	t, err := y.Topics.load(ctx, at)
	if err == nil {
		y.topics.put(ExchangeOf(ch), t.clone())
	}
	return t, err
}

// someSubscriptions are those of the first page, as they were within the last minute. If the call fails, there are
// none, and the caller subscribes its queue, which finds the subscription as well.
func (y *Surveyor) someSubscriptions(ctx context.Context, t *Topic) map[string]string {
	if some, known := y.subscriptions.of(t.ARN); known {
		return some
	}
	some, err := y.Topics.subscriptionsPage(ctx, t)
	if err != nil {
		return nil
	}
	y.subscriptions.put(t.ARN, some)
	return some
}

// foundQueues keeps the queues of a channel, which exist. A producer's next sender uses its queue.
func (y *Surveyor) foundQueues(s driver.ChannelSpec, q, dead *Queue) {
	y.Listing.learn(nil, q, dead)
	y.queues.put(s.Channel, q)
	if !s.Owner {
		y.ensured.Store(s.Channel, q)
	}
}

// foundTopic keeps the topic of a channel's exchange, which exists. A producer's next sender uses it.
func (y *Surveyor) foundTopic(s driver.ChannelSpec, t *Topic) {
	y.Listing.learn(t)
	y.topics.put(ExchangeOf(s.Channel), t.clone())
	if !s.Owner {
		y.ensured.Store(s.Channel, t)
	}
}

// forget makes the next Ensure ask the service again, because something of the channel was found missing.
func (y *Surveyor) forget(ch driver.Channel) {
	y.queues.drop(ch)
	t, known := y.topics.of(ExchangeOf(ch))
	if known {
		y.topics.drop(ExchangeOf(ch))
		y.subscriptions.drop(t.ARN)
	}
}

// Noticed is an error of a send. If it says that the queue or topic is missing, what is remembered of it is forgotten.
func (y *Surveyor) Noticed(to driver.Channel, err error) error {
	if err != nil && driver.ClassOf(err) == driver.NotFound {
		y.forget(to)
	}
	return err
}

// Ensured is the queue of a channel for a sender: the one that Ensure has just found, or that the service names.
func (y *Surveyor) Ensured(ctx context.Context, ch driver.Channel) (*Queue, error) {
	if q, found := y.ensured.LoadAndDelete(ch); found {
		return q.(*Queue), nil
	}
	return y.Queues.Of(ctx, ch)
}

// Current is the queue of a channel for a receiver, with its attributes of now.
func (y *Surveyor) Current(ctx context.Context, ch driver.Channel) (*Queue, error) {
	if known, found := y.queues.of(ch); found {
		q := *known
		return &q, y.Queues.Load(ctx, &q)
	}
	return y.Queues.Of(ctx, ch)
}

// EnsuredTopic is Ensured for the topic of an exchange.
func (y *Surveyor) EnsuredTopic(ctx context.Context, ch driver.Channel) (*Topic, error) {
	if t, found := y.ensured.LoadAndDelete(ch); found {
		return t.(*Topic), nil
	}
	return y.Topics.Of(ctx, ch)
}

// recent has answers by their keys, each for a minute. The zero value is ready; it is safe for concurrent use.
type recent[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]answer[V]
}

type answer[V any] struct {
	value V
	at    time.Time
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil {
		r.answers = map[K]answer[V]{}
	}
	r.answers[k] = answer[V]{v, time.Now()}
}

func (r *recent[K, V]) of(k K) (v V, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, known := r.answers[k]
	if known && time.Since(a.at) < goodFor {
		return a.value, true
	}
	delete(r.answers, k)
	return v, false
}

func (r *recent[K, V]) drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, k)
}
