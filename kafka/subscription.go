package kafka

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// subscription is what a receiver reads, and with which settings. It does not change.
type subscription struct {
	b          *Backend
	from       driver.Channel
	o          driver.ReceiverOptions
	set        ChannelOptions
	topic      string
	group      string
	consumer   string                   // the channel's own group, even if another one reads the tiers
	tiersOnly  bool                     // for a share group, whose own client reads the channel's topic
	transforms bool                     // results and completions are in transactions
	tiers      map[string]time.Duration // waiting time by topic
	retry      RetryQueue               // nil: the core holds every retry
	dead       DeadLetterQueue          // nil: this channel has no dead letters
}

// purpose is what a receiver is for.
type purpose uint8

const (
	toHandle    purpose = iota // the records of a channel
	toRetry                    // only those in its tiers
	toTransform                // the records of a channel, in transactions with their results
)

// subscribe decides where retries wait and where dead letters go. log returns the id of the channel's topic.
func subscribe(b *Backend, from driver.Channel, o driver.ReceiverOptions, why purpose,
	log func() string,
) *subscription {
	s := &subscription{
		b: b, from: from, o: o, set: b.o.channel(from), topic: b.topicOf(from),
		group: b.names.Group(from), consumer: b.names.Group(from),
		tiersOnly: why == toRetry, transforms: why == toTransform, tiers: map[string]time.Duration{},
	}
	if s.tiersOnly {
		s.group = b.names.Retries(from)
	}
	if from.DeadLetter {
		s.set.Retries = RetryBlock
		return s
	}
	if s.dead = b.o.DeadLetterQueue; s.dead == nil {
		s.dead = &deadTopic{b: b, ch: from, log: log}
	}
	if !s.set.tiered() {
		return s
	}
	if s.retry = b.o.RetryQueue; s.retry != nil {
		return s
	}
	for _, d := range s.set.Tiers {
		s.tiers[b.names.Tier(from, d)] = d
	}
	s.retry = &tierQueue{b: b, ch: from, consumer: s.consumer, tiers: s.set.Tiers}
	return s
}

// places is roughly how many places the core has for deliveries.
func (s *subscription) places() int { return cmp.Or(s.o.Window, window) }

// commitRecords is the number of finished records that is committed before the interval is over.
func (s *subscription) commitRecords() int {
	if s.transforms {
		return cmp.Or(s.b.o.CommitRecords, transactionRecords)
	}
	return cmp.Or(s.b.o.CommitRecords, commitRecords)
}

// commitInterval is the longest time between two commits.
func (s *subscription) commitInterval() time.Duration {
	if s.transforms {
		return cmp.Or(s.b.o.CommitInterval, transactionInterval)
	}
	return cmp.Or(s.b.o.CommitInterval, commitInterval)
}

// inOrder reports whether records without a key are in order among each other.
func (s *subscription) inOrder() bool { return s.from.Ordered && s.set.NullKeys != NullKeysSpread }

// parks reports whether later messages of the key wait while a message waits in a tier. On a channel that is not
// ordered, a message without a key has no order.
func (s *subscription) parks(m *message) bool {
	return s.set.Retries == RetryPark && (len(m.record.Key) > 0 || s.inOrder() || s.set.Ordering == OrderByPartition)
}

// marksEnds reports whether the member needs to know when a partition is read up to its end, which may be a control
// record: until a tier is read, the first record of a key is not known.
func (s *subscription) marksEnds() bool { return s.set.Retries == RetryPark && len(s.tiers) > 0 }

// blocks reports whether later messages of a key wait in this process while a message of the key is retried, or is
// slow.
func (s *subscription) blocks() bool {
	return s.set.Retries == RetryBlock && s.set.Ordering == OrderByKey && !s.tiersOnly
}

// moves reports whether records that are not due wait in a tier. If not, they wait in this process.
func (s *subscription) moves() bool { return s.retry != nil && s.retry.Durable() }

// copies are the topics, apart from the tiers, to which records of this channel are copied.
func (s *subscription) copies() []string {
	if q, ok := s.dead.(*deadTopic); ok {
		return []string{s.b.names.DeadLetters(q.ch)}
	}
	return nil
}

// longestWait is the longest retry. If it is longer than the longest tier, the record waits in several tiers.
const longestWait = 365 * 24 * time.Hour

// sessionTimeout is how long a member may be silent if the options do not say it, also by the defaults of a broker.
const sessionTimeout = 45 * time.Second

// handover is how long the partitions of a dead member stay its own.
func (s *subscription) handover() time.Duration { return cmp.Or(s.b.o.SessionTimeout, sessionTimeout) }

// limits says how retries wait, and that received records stay with this receiver while the handler works.
func (s *subscription) limits() driver.ReceiveLimits {
	lim := driver.ReceiveLimits{
		Batch: min(receiveMost, s.places()), Window: s.places(), Polls: 1, Keeps: true, Handover: s.handover(),
	}
	if s.retry == nil {
		lim.HoldMax = s.set.MaxBlock
		return lim
	}
	lim.RetryMin, lim.RetryMax = s.set.Tiers[0], longestWait
	lim.Behind = driver.BehindGoesOn
	if s.set.Retries == RetryPark {
		lim.Behind = driver.BehindFollows
	}
	return lim
}

// fill sets the delivery's lane, and the position of its original.
func (s *subscription) fill(m *message, d *driver.Delivery) {
	switch s.set.Ordering {
	case OrderByPartition:
		d.OrderKey = m.epoch.Name
	case OrderNone:
		d.OrderKey, d.Tenant = "", d.OrderKey
	}
	if d.OrderKey == "" && s.from.Ordered && !s.inOrder() {
		d.OrderKey = d.ID // a lane of its own
	}
	d.FirstFailure = m.failed
	if m.epoch.stay > 0 {
		if home, ok := wire.HomeOf(m.record); ok {
			d.ID, d.SentAt = home.String(), wire.SentAt(m.record)
		}
	}
	if s.from.DeadLetter {
		d.Origin = deadletter.OriginOf(s.b.names, s.from, m.record)
		if at, ok := deadletter.SentAt(m.record); ok {
			d.SentAt = at
		}
	}
}

// recycle returns the memory of a record that nothing refers to any more.
func (s *subscription) recycle(r *kgo.Record) {
	if s.b.reuses {
		r.Recycle()
	}
}
