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
	// laterSuffix is the end of the name of a topic in which messages wait for their time. It is reserved, so that no
	// other topic's name has it.
	laterSuffix = partSeparator + part.Later
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

// Names maps channels to topics and groups. Namespace is put before every name that is derived from a channel's; "":
// there is none. Mapping has the topics and groups that are not derived.
//
// A queue and an exchange of the same name share a topic, unless it is mapped: the groups of orders and orders.audit
// read the same records.
type Names struct {
	Namespace string
	Mapping   Mapping
}

// own are the names that channels have without a mapping. The names of a mapped channel's tiers begin with them, and so
// do those of its dead letters if they are not mapped, so that they are found by their names.
func (n Names) own() Names { return Names{Namespace: n.Namespace} }

// Former are the names of earlier versions, in which all groups of a channel had the same tiers and dead letters.
func (n Names) Former() Names {
	n.Mapping = n.Mapping.withoutLabels()
	return n
}

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
	longest := len(n.own().Topic(ch)) + len(laterSuffix)
	if ch.Queue != "" {
		longest = len(n.own().Topic(ch)) + len(partSeparator) +
			len(n.own().Group(driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue})) +
			len(n.Mapping.of(ch).label) + len(longestSuffix)
	}
	if room := maxTopicName - longest; room < 0 {
		return fmt.Errorf("channel %s: the names of its topics have up to %d characters, %d more than Kafka permits: "+
			"shorten a part of the name or the namespace", ch, longest, -room)
	}
	return nil
}

// Topic is the topic of a channel's records: its exchange's, or its own.
func (n Names) Topic(ch driver.Channel) string {
	if mapped := n.Mapping.topic(ch); mapped != "" {
		return mapped
	}
	if ch.Exchange != "" {
		return n.in(ch.Exchange)
	}
	return n.in(ch.Queue)
}

// Group is the consumer group of a channel. Its dead letters have a group of their own, and so have its messages that
// wait for their time: that of the wakers.
func (n Names) Group(ch driver.Channel) string {
	if ch.Later {
		return n.in(ch.Queue) + laterSuffix
	}
	if mapped := n.Mapping.of(ch).Group; mapped != "" && !ch.DeadLetter {
		return mapped
	}
	name := ch.Queue
	if ch.Exchange != "" {
		name = ch.Exchange + partSeparator + name
	}
	if ch.DeadLetter {
		if p := n.Mapping.of(ch); p.DeadLetters == "" {
			name += p.label
		}
		name += partSeparator + dlqPart
	}
	return n.in(name)
}

// DeadLetters is the topic of a channel's dead letters. ch is the channel or its dead letters.
func (n Names) DeadLetters(ch driver.Channel) string {
	if mapped := n.Mapping.of(ch).DeadLetters; mapped != "" {
		return mapped
	}
	return n.beside(ch, dlqPart)
}

// Later is the topic in which messages of a channel, or of all consumers of its exchange, wait for their time. It is
// also the group that wakes them.
func Later(n Names, ch driver.Channel) string { return n.own().Topic(ch) + laterSuffix }

// LaterOf returns the channel of messages that wait for their time in a topic; false: it is not such a topic, or one of
// another namespace, or mapped.
func LaterOf(n Names, topic string) (ch driver.Channel, ok bool) {
	of, ok := strings.CutSuffix(topic, laterSuffix)
	if !ok || n.Mapping.isLetters(topic) || len(n.Mapping.sharing(topic)) > 0 {
		return ch, false
	}
	ch, ok = n.Base(of)
	ch.Later = true
	return ch, ok
}

// Tier is the topic in which records of a channel wait for d.
func (n Names) Tier(ch driver.Channel, d time.Duration) string {
	return n.beside(ch, retryPart+partSeparator+shortly(d))
}

// Retries is the group that reads the tiers of a channel whose own topic a share group reads. Another group of the
// channel has another one, because a member finishes the records in its tiers that are not for its channel's group.
func (n Names) Retries(ch driver.Channel) string { return n.beside(ch, retryPart) }

// State is the topic of a state that programs share. It is no topic of a channel, because no part of a channel's name
// has two hyphens.
func (n Names) State(name string) string { return n.in("state--" + name) }

// Member identifies the members of a channel's group among those of all channels: two channels may be mapped to one
// group. It is the group that the channel has by its name.
func (n Names) Member(ch driver.Channel) string { return n.own().Group(ch) }

// Origin returns the topic that a tier's records are from, if the tier is one of a channel whose records a group reads.
func (n Names) Origin(tier, group string) (of string, ok bool) {
	for _, names := range []Names{n, n.Former()} {
		for _, ch := range n.Mapping.Channels() {
			if _, is := names.Stay(ch, tier); is && ch.Queue != "" && n.Group(ch) == group {
				return n.Topic(ch), true
			}
		}
	}
	of, _, ok = strings.Cut(tier, partSeparator+group+TierInfix)
	if !ok || len(n.Mapping.places) == 0 {
		return of, ok
	}
	if ch, known := n.own().Reads(of, group); known && n.Group(ch) == group {
		of = n.Topic(ch) // the channel of a mapped exchange
	}
	return of, ok
}

// Stay is how long records stay in a tier of a channel; false: the topic is not one of its tiers.
func (n Names) Stay(ch driver.Channel, tier string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(tier, n.beside(ch, retryPart+partSeparator))
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0 && shortly(d) == text
}

// Follows reports whether the records of a topic keep the partition of their original, or of their key in a topic of
// messages that wait.
func (n Names) Follows(topic string) bool {
	if n.Mapping.isLetters(topic) {
		return true
	}
	return len(n.Mapping.sharing(topic)) == 0 &&
		(strings.HasSuffix(topic, DeadSuffix) || strings.HasSuffix(topic, laterSuffix) ||
			strings.Contains(topic, TierInfix))
}

// Waits says whether a topic is a tier, in which records wait for their retry.
func (n Names) Waits(topic string) bool {
	return !n.Mapping.isLetters(topic) && len(n.Mapping.sharing(topic)) == 0 && strings.Contains(topic, TierInfix) &&
		!strings.HasSuffix(topic, DeadSuffix)
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
	own := n.own()
	return strings.Join([]string{own.Topic(ch), own.Group(ch) + n.Mapping.of(ch).label, what}, partSeparator)
}

func (n Names) in(name string) string {
	if n.Namespace == "" {
		return name
	}
	return n.Namespace + partSeparator + name
}

// ChannelOf is the channel that a group reads from a topic: a mapped one, or one of any namespace by its name; false:
// Godwit gives no group this name.
func (n Names) ChannelOf(topic, group string) (ch driver.Channel, ok bool) {
	if len(n.Mapping.places) > 0 {
		if ch, ok := n.Reads(topic, group); ok {
			return ch, true
		}
	}
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

// Base returns the one-to-one channel of a topic; false: the topic is not in the namespace, or one of a consumer's
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

// Reads returns the channel whose group reads a topic: a mapped one, or one of [Names.Base]; false: it is another
// group.
func (n Names) Reads(topic, group string) (ch driver.Channel, ok bool) {
	if len(n.Mapping.places) == 0 {
		return n.readsOwn(topic, group)
	}
	for _, ch := range n.Mapping.Channels() {
		if ch.Queue != "" && n.Topic(ch) == topic && n.Group(ch) == group {
			return ch, true
		}
	}
	named := []string{topic} // the names that the topic has without the mapping
	for _, ch := range n.Mapping.sharing(topic) {
		named = append(named, n.own().Topic(ch))
	}
	for _, name := range named {
		if ch, ok = n.readsOwn(name, group); ok && n.Topic(ch) == topic && n.Group(ch) == group {
			return ch, true
		}
	}
	return driver.Channel{}, false
}

// readsOwn is Reads without a mapping.
func (n Names) readsOwn(topic, group string) (ch driver.Channel, ok bool) {
	base, _ := n.Base(topic)
	if group == topic {
		return base, true
	}
	queue, ok := strings.CutPrefix(group, topic+partSeparator)
	return driver.Channel{Exchange: base.Queue, Queue: queue}, ok && part.Legal(queue)
}

// IsOthers reports whether a topic that could be a channel's by its name is not, because it is mapped for another
// channel, or because its channel is mapped to another topic.
func (n Names) IsOthers(topic string) bool {
	if len(n.Mapping.places) == 0 {
		return false
	}
	base, _ := n.Base(topic)
	return n.Mapping.isLetters(topic) || len(n.Mapping.sharing(topic)) > 0 || n.Mapping.topic(base) != "" ||
		n.Mapping.topic(driver.Channel{Exchange: base.Queue}) != ""
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
	return n.readsOwn(topic, group)
}

// LettersBeside returns the channel of a mapped exchange whose dead letters, by their name, are in a topic; false: they
// are not.
func (n Names) LettersBeside(exchange driver.Channel, topic string) (ch driver.Channel, ok bool) {
	return n.own().Letters(n.own().Topic(exchange), topic)
}

// Has reports whether a topic is mapped, or one of the namespace: the topic of a channel, of its dead letters, of its
// messages that wait for their time, or a tier.
func (n Names) Has(topic string) bool {
	if n.Mapping.isLetters(topic) || len(n.Mapping.sharing(topic)) > 0 {
		return true
	}
	if _, ok := n.Base(strings.TrimSuffix(topic, laterSuffix)); ok {
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
	group, _, _ = strings.Cut(group, groupSeparator) // a group that this or another program maps
	_, ok = n.readsOwn(base, group)
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

// shortly formats a duration in the largest unit that divides it: 90s, 10m, 1h.
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
