package sns

import (
	"maps"
	"slices"
	"sync"

	"github.com/godwitmq/godwit/localaws/wire"
)

// registry holds the topics and the subscriptions of a place. It is safe for concurrent use.
type registry struct {
	opts    Options
	carrier *Carrier // numbers topics and subscriptions

	mu            sync.RWMutex
	records       records
	topics        map[string]*topic
	subscriptions map[string]*subscription
	tokens        map[string]*subscription // confirmation tokens and their subscriptions
}

// empty removes everything from memory; the caller holds the lock.
func (r *registry) empty() {
	for _, sub := range r.tokens {
		if sub.expire != nil {
			sub.expire()
		}
	}
	r.topics = map[string]*topic{}
	r.subscriptions = map[string]*subscription{}
	r.tokens = map[string]*subscription{}
}

func (r *registry) place() wire.Place {
	return wire.Place{Account: r.opts.Account, Region: r.opts.Region}
}

// topic looks up a topic, and tells it that there was a call; the caller holds the lock.
func (r *registry) topic(arn string) (*topic, *wire.Error) {
	t, ok := r.topics[arn]
	if !ok {
		return nil, noTopic()
	}
	r.touch(t)
	return t, nil
}

// touch says that there was a call for a topic, of any kind and with any outcome. A topic without calls sleeps;
// Options.Woken is called when it wakes.
func (r *registry) touch(t *topic) {
	if r.opts.Woken == nil || t == nil {
		return
	}
	t.meter.mu.Lock()
	t.meter.called = r.opts.Clock.Elapsed()
	wakes := !t.meter.awake && !t.meter.gone
	t.meter.awake = t.meter.awake || wakes
	t.meter.mu.Unlock()
	if wakes {
		r.opts.Woken(Metered{Name: t.name, ARN: t.arn, topic: t})
	}
}

// inOrder returns the topics in order of creation; the caller holds the lock.
func (r *registry) inOrder() []*topic {
	return slices.SortedFunc(maps.Values(r.topics), func(a, b *topic) int { return compareNumbers(a.number, b.number) })
}

func compareNumbers(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}

// owns reports whether an account owns a subscription.
func (r *registry) owns(account, arn string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sub, there := r.subscriptions[arn]
	return there && sub.owner == account
}

func (r *registry) roomForTopic(fifo bool) *wire.Error {
	count, limit := 0, maxTopics
	if fifo {
		limit = maxFIFOTopics
	}
	if len(r.topics) < limit {
		return nil
	}
	for _, t := range r.topics {
		if t.fifo == fifo {
			count++
		}
	}
	if count >= limit {
		return limitExceeded("TopicLimitExceeded", "Topic limit exceeded")
	}
	return nil
}

// subscriptionsOf returns what an account has subscribed to here, in any order.
func (r *registry) subscriptionsOf(account string) []numbered {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []numbered
	for _, sub := range r.subscriptions {
		if sub.owner == account {
			all = append(all, numbered{sub.entry(), sub.number})
		}
	}
	return all
}

func (r *registry) isConfirmed(sub *subscription) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return sub.confirmed
}
