package kafka

import (
	"cmp"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/operate"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/transact"
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
	former     map[string]time.Duration // the topics by names of earlier versions: some of tiers, or letters
	letters    string                   // the dead letters of several groups; "": there are none
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
		b: b, from: from, o: o, set: b.o.channel(from), topic: b.channels.TopicOf(from),
		group: b.channels.Group(from), consumer: b.channels.Group(from),
		tiersOnly: why == toRetry, transforms: why == toTransform, tiers: map[string]time.Duration{},
	}
	if s.tiersOnly {
		s.group = b.channels.Retries(from)
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
		s.tiers[b.channels.Tier(from, d)] = d
	}
	s.retry = &tierQueue{b: b, ch: from, consumer: s.consumer, tiers: s.set.Tiers}
	return s
}

// findFormer adds the topics by names of earlier versions in which records of this channel's group are left.
func (s *subscription) findFormer(ctx context.Context) error {
	if _, tiered := s.retry.(*tierQueue); !tiered && !s.from.DeadLetter {
		return nil
	}
	f, err := operate.FindFormer(ctx, s.b.operator, s.from)
	if err == nil {
		err = f.Begin(ctx)
	}
	s.former = f.Topics
	for topic, stay := range f.Topics {
		if s.from.DeadLetter {
			s.letters = topic
		} else {
			s.tiers[topic] = stay
		}
	}
	return err
}

// places is roughly how many places the core has for deliveries.
func (s *subscription) places() int { return cmp.Or(s.o.Window, records.Window) }

// commitRecords is the number of finished records that is committed before the interval is over.
func (s *subscription) commitRecords() int {
	if s.transforms {
		return cmp.Or(s.b.o.CommitRecords, transact.Records)
	}
	return cmp.Or(s.b.o.CommitRecords, commitRecords)
}

// commitInterval is the longest time between two commits.
func (s *subscription) commitInterval() time.Duration {
	if s.transforms {
		return cmp.Or(s.b.o.CommitInterval, transact.Interval)
	}
	return cmp.Or(s.b.o.CommitInterval, commitInterval)
}

// rules are what the ledger needs to know.
func (s *subscription) rules() records.Rules {
	park, byPartition := s.set.Retries == RetryPark, s.set.Ordering == OrderByPartition
	alive := s.from
	alive.DeadLetter = false
	return records.Rules{
		Channel: s.from.String(), Topic: s.topic, Consumer: s.consumer, Stays: s.tiers, Filter: s.o.Filter,
		Letters: s.letters, DiedIn: s.b.channels.Group(alive),
		ByPartition: byPartition, Unordered: s.set.Ordering == OrderNone, InOrder: s.inOrder(),
		Parks: park, MarksEnds: park && len(s.tiers) > 0, Moves: s.retry != nil && s.retry.Durable(),
		Blocks:   s.set.Retries == RetryBlock && s.set.Ordering == OrderByKey && !s.tiersOnly,
		Releases: s.tiersOnly, Retries: s.retry != nil, Rejects: s.dead != nil,
		Transforms: s.transforms, Recycles: s.b.reuses,
		Places: s.places(), Bytes: s.o.Bytes, Commit: s.commitRecords(),
	}
}

// inOrder reports whether records without a key are in order among each other.
func (s *subscription) inOrder() bool { return s.from.Ordered && s.set.NullKeys != NullKeysSpread }

// longestWait is the longest retry. If it is longer than the longest tier, the record waits in several tiers.
const longestWait = 365 * 24 * time.Hour

// sessionTimeout is how long a member may be silent if the options do not say it, also by the defaults of a broker.
const sessionTimeout = 45 * time.Second

// limits says how retries wait, and that received records stay with this receiver while the handler works.
func (s *subscription) limits() driver.ReceiveLimits {
	lim := driver.ReceiveLimits{
		Batch: min(receiveMost, s.places()), Window: s.places(), Polls: 1, Keeps: true,
		Handover: cmp.Or(s.b.o.SessionTimeout, sessionTimeout),
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

// deliver makes a delivery of a record of the channel's own topic.
func (s *subscription) deliver(r *kgo.Record, d *driver.Delivery) {
	wire.Decode(r, d)
	s.fill(d, wire.Partition{Topic: r.Topic, N: r.Partition}.String(), r, false)
	send.Point(s.b.o.Store, d)
}

// fill sets the delivery's lane, and the position of its original. source is the name of its source.
func (s *subscription) fill(d *driver.Delivery, source string, r *kgo.Record, tier bool) {
	switch s.set.Ordering {
	case OrderByPartition:
		d.OrderKey = source
	case OrderNone:
		d.OrderKey, d.Tenant = "", d.OrderKey
	}
	if d.OrderKey == "" && s.from.Ordered && !s.inOrder() {
		d.OrderKey = d.ID // a lane of its own
	}
	if tier {
		if home, ok := wire.HomeOf(r); ok {
			d.ID, d.SentAt = home.String(), wire.SentAt(r)
		}
	}
	if s.from.DeadLetter {
		d.Origin = deadletter.OriginOf(s.b.channels.Names, s.from, r)
		if at, ok := deadletter.SentAt(r); ok {
			d.SentAt = at
			if at.Before(d.First) { // of a dead letter of another program
				d.First = at
			}
		}
	}
}
