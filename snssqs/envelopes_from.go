package snssqs

import (
	"context"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// checkEnvelopes refuses settings of Options.EnvelopesFrom that can have no effect.
func checkEnvelopes(from map[string][]string) error {
	for channel, topics := range from {
		if strings.Contains(channel, "@") {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: name the channel itself; its dead letters are read as "+
				"its messages", channel)
		}
		if err := checkMapping(channel, Resource{}); err != nil {
			return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q]: %w", channel, err)
		}
		for _, topic := range topics {
			if a, ok := parseARN(topic); topic != trust.AnyTopic && (!ok || a.service != "sns") {
				return fmt.Errorf("snssqs: Options.EnvelopesFrom[%q] has %q: it must be the ARN of an SNS topic, or %q "+
					"for every topic", channel, topic, trust.AnyTopic)
			}
		}
	}
	return nil
}

// envelopes is how messages in SNS's JSON are treated.
type envelopes struct {
	from       map[string][]string // Options.EnvelopesFrom
	signatures *trust.Signatures   // nil: they are not checked

	warned onceFor // channels with JSON that was not opened
}

// setting returns the entry of Options.EnvelopesFrom for a channel, or else that of its exchange.
func (e *envelopes) setting(ch driver.Channel) (topics []string, set bool) {
	if topics, set = e.from[ch.String()]; !set && ch.Exchange != "" {
		topics, set = e.from[exchange(ch).String()]
	}
	return topics, set
}

// trusts returns the topics whose JSON a channel opens: those of Options.EnvelopesFrom or, without an entry, that of
// its exchange and, for a mapped queue, those that the queue's policy lets in. The resource is the channel's queue or,
// for an exchange, its topic.
func (b *Backend) trusts(ch driver.Channel, resourceARN, policy string) trust.Topics {
	if topics, set := b.envelopes.setting(ch); set {
		return topics
	}
	var t trust.Topics
	if topic, ok := b.exchangeTopic(ch, resourceARN); ok {
		t = append(t, topic)
	}
	if as, mapped := b.mapped(ch); mapped && as.Queue != "" {
		t = append(t, trust.LetIn(policy)...)
	}
	return t
}

// queueTrusts is trusts of a channel with a queue. Dead letters are opened as the messages of their channel.
func (b *Backend) queueTrusts(ctx context.Context, ch driver.Channel, q *queue) (trust.Topics, error) {
	policy := q.policy()
	of := ch
	of.DeadLetter = false
	as, mapped := b.mapped(of)
	if _, set := b.envelopes.setting(of); ch.DeadLetter && mapped && as.Queue != "" && !set {
		main, err := b.known(ctx, of)
		switch {
		case err == nil:
			policy = main.policy()
		case driver.ClassOf(err).Passing():
			return nil, fmt.Errorf("which topics may send to %s: %w", of, err)
		default: // the queue is gone, or not for this program; its dead letters can be read without it
			policy = ""
		}
	}
	return b.trusts(of, q.arn(), policy), nil
}

// exchangeTopic returns the ARN of the topic of a channel's exchange, in the account and region of another resource of
// the channel unless it is mapped.
func (b *Backend) exchangeTopic(ch driver.Channel, resourceARN string) (string, bool) {
	if ch.Exchange == "" {
		return "", false
	}
	for _, name := range []driver.Channel{ch, exchange(ch)} {
		if r, ok := b.mapped(name); ok && r.Topic != "" {
			if _, named := parseARN(r.Topic); named {
				return r.Topic, true
			}
			return besideARN(resourceARN, r.Topic)
		}
	}
	name, err := b.namespace.topic(ch)
	if err != nil {
		return "", false
	}
	return besideARN(resourceARN, name)
}

// besideARN is the ARN of a topic in the account and region of another resource.
func besideARN(resourceARN, topic string) (string, bool) {
	at, ok := parseARN(resourceARN)
	return identity{partition: at.partition, region: at.region, account: at.account}.arn("sns", topic), ok
}
