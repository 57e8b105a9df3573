package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

const (
	dlqPart   = part.DeadLetters
	retryPart = "retry"
	// DeadSuffix is the end of the name of a topic of dead letters. No other topic's name has this end.
	DeadSuffix = partSeparator + dlqPart
	// TierInfix is in the name of a tier, between topic and group on one side and the delay on the other.
	TierInfix     = partSeparator + retryPart + partSeparator
	partSeparator = "."
	maxTopicName  = 249 // Kafka's limit
	// longestSuffix is the longest end of a name of a channel's other topics: the suffix of dead letters is shorter,
	// and no tier has a longer delay.
	longestSuffix = TierInfix + "99999s"
)

// Names maps channels to topics and groups. Namespace is put before every name; "": there is none.
//
// A queue and an exchange of the same name share a topic: the groups of orders and orders.audit read the same records.
type Names struct{ Namespace string }

// Check returns an error if a channel's names are not valid on Kafka.
func (n Names) Check(ch driver.Channel) error {
	parts := []string{ch.Queue}
	switch {
	case ch.Exchange != "" && ch.Queue == "":
		parts = []string{ch.Exchange}
	case ch.Exchange != "":
		parts = []string{ch.Exchange, ch.Queue}
	}
	for _, one := range parts {
		if !part.Legal(one) {
			return fmt.Errorf("channel %s: %q is not a valid part of a name: use letters, digits, '_' and '-', begin "+
				"and end with a letter or digit, without '--', and do not use %q", ch, one, dlqPart)
		}
	}
	longest := len(n.Topic(ch))
	if ch.Queue != "" {
		longest += len(partSeparator) + len(n.Group(driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue})) +
			len(longestSuffix)
	}
	if room := maxTopicName - longest; room < 0 {
		return fmt.Errorf("channel %s: the names of its topics have up to %d characters, %d more than Kafka permits: "+
			"shorten a part of the name or the namespace", ch, longest, -room)
	}
	return nil
}

// Topic is the topic of a channel's records: its exchange's, or its own.
func (n Names) Topic(ch driver.Channel) string {
	if ch.Exchange != "" {
		return n.in(ch.Exchange)
	}
	return n.in(ch.Queue)
}

// Group is the consumer group of a channel. Its dead letters have a group of their own.
func (n Names) Group(ch driver.Channel) string {
	name := ch.Queue
	if ch.Exchange != "" {
		name = ch.Exchange + partSeparator + name
	}
	if ch.DeadLetter {
		name += partSeparator + dlqPart
	}
	return n.in(name)
}

// DeadLetters is the topic of a channel's dead letters. ch is the channel or its dead letters.
func (n Names) DeadLetters(ch driver.Channel) string {
	return n.beside(ch, dlqPart)
}

// Tier is the topic in which records of a channel wait for d.
func (n Names) Tier(ch driver.Channel, d time.Duration) string {
	return n.beside(ch, retryPart+partSeparator+shortly(d))
}

// Retries is the group that reads the tiers of a channel whose own topic a share group reads.
func (n Names) Retries(ch driver.Channel) string { return n.beside(ch, retryPart) }

// State is the topic of a state that programs share. It is no topic of a channel, because no part of a channel's name
// has two hyphens.
func (n Names) State(name string) string { return n.in("state--" + name) }

// Split returns the topic that a tier's records are from; false: the topic is not a tier of that group.
func Split(topic, group string) (of string, ok bool) {
	of, _, ok = strings.Cut(topic, partSeparator+group+TierInfix)
	return of, ok
}

// Stay is how long records stay in a tier of a topic and a group; false: the topic is none of their tiers.
func Stay(tier, topic, group string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(tier, topic+partSeparator+group+TierInfix)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0 && shortly(d) == text
}

// Follows reports whether the records of a topic keep the partition of their original.
func Follows(topic string) bool {
	return strings.HasSuffix(topic, DeadSuffix) || strings.Contains(topic, TierInfix)
}

// Waits says whether a topic is a tier, in which records wait for their retry.
func Waits(topic string) bool {
	return strings.Contains(topic, TierInfix) && !strings.HasSuffix(topic, DeadSuffix)
}

// Parse reads a channel's name as users write it, with or without @dlq.
func Parse(name string) driver.Channel {
	name, dead := strings.CutSuffix(name, "@"+dlqPart)
	exchange, queue, many := strings.Cut(name, partSeparator)
	if !many {
		return driver.Channel{Queue: exchange, DeadLetter: dead}
	}
	return driver.Channel{Exchange: exchange, Queue: queue, DeadLetter: dead}
}

// beside is the name of another topic of the channel's consumer.
func (n Names) beside(ch driver.Channel, what string) string {
	ch.DeadLetter = false
	return strings.Join([]string{n.Topic(ch), n.Group(ch), what}, partSeparator)
}

func (n Names) in(name string) string {
	if n.Namespace == "" {
		return name
	}
	return n.Namespace + partSeparator + name
}

// ChannelOf is the channel that a group reads from a topic, in any namespace; false: Godwit gives no group this name.
func ChannelOf(topic, group string) (ch driver.Channel, ok bool) {
	space, name, spaced := strings.Cut(topic, partSeparator)
	if !spaced {
		name = topic
	} else if !part.Legal(space) {
		return ch, false
	}
	if !part.Legal(name) {
		return ch, false
	}
	if group == topic {
		return driver.Channel{Queue: name}, true
	}
	queue, ok := strings.CutPrefix(group, topic+partSeparator)
	if !ok || !part.Legal(queue) {
		return ch, false
	}
	return driver.Channel{Exchange: name, Queue: queue}, true
}

// Base returns the one-to-one channel of a topic; false: the topic is none of the namespace, or one of a consumer's
// other topics. An exchange's topic has the same form.
func (n Names) Base(topic string) (ch driver.Channel, ok bool) {
	name := topic
	if n.Namespace != "" {
		if name, ok = strings.CutPrefix(topic, n.in("")); !ok {
			return ch, false
		}
	}
	return driver.Channel{Queue: name}, part.Legal(name)
}

// Reads returns the channel whose group reads a topic of [Names.Base]; false: it is another group.
func (n Names) Reads(topic, group string) (ch driver.Channel, ok bool) {
	base, _ := n.Base(topic)
	if group == topic {
		return base, true
	}
	queue, ok := strings.CutPrefix(group, topic+partSeparator)
	return driver.Channel{Exchange: base.Queue, Queue: queue}, ok && part.Legal(queue)
}

// Letters returns the channel of a topic of [Names.Base] whose dead letters are in another topic; false: they are not.
func (n Names) Letters(topic, other string) (ch driver.Channel, ok bool) {
	group, ok := strings.CutPrefix(other, topic+partSeparator)
	if !ok {
		return ch, false
	}
	if group, ok = strings.CutSuffix(group, DeadSuffix); !ok {
		return ch, false
	}
	return n.Reads(topic, group)
}

// Has reports whether a topic is one of the namespace: that of a channel, of its dead letters, or a tier.
func (n Names) Has(topic string) bool {
	if _, ok := n.Base(topic); ok {
		return true
	}
	name, ok := topic, true
	if n.Namespace != "" {
		name, ok = strings.CutPrefix(topic, n.in(""))
	}
	name, group, beside := strings.Cut(name, partSeparator)
	if !ok || !beside {
		return false
	}
	base := n.in(name)
	if _, ok := n.Base(base); !ok {
		return false
	}
	group, dead := strings.CutSuffix(group, DeadSuffix)
	if at := strings.LastIndex(group, TierInfix); !dead && at >= 0 {
		group = group[:at]
	} else if !dead {
		return false
	}
	_, ok = n.Reads(base, group)
	return ok
}

// LettersOf returns the dead letters that a topic has by its name, whether or not the topic of their originals exists;
// false: the topic has none.
func (n Names) LettersOf(topic string) (ch driver.Channel, ok bool) {
	name := topic
	if n.Namespace != "" {
		if name, ok = strings.CutPrefix(topic, n.in("")); !ok {
			return ch, false
		}
	}
	base, _, _ := strings.Cut(name, partSeparator)
	if !part.Legal(base) {
		return ch, false
	}
	ch, ok = n.Letters(n.in(base), topic)
	ch.DeadLetter = true
	return ch, ok
}

// shortly formats a duration in the largest unit of which it is a whole number: 90s, 10m, 1h.
func shortly(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.unit && d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
