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
	// DeadSuffix ends the name of a topic of dead letters, and of no other topic.
	DeadSuffix = partSeparator + dlqPart
	// TierInfix stands between the name of a topic and its group, and the delay, in the name of a tier.
	TierInfix     = partSeparator + retryPart + partSeparator
	partSeparator = "."
	maxTopicName  = 249 // Kafka's limit
	// longestSuffix is what the names of a channel's other topics can add to topic and group: that of the dead letters
	// is shorter, and no tier waits for longer.
	longestSuffix = TierInfix + "99999s"
)

// Names maps channels to topics and groups. A namespace stands in front of every one of them; "": none.
//
// A queue and an exchange of one name share a topic, as consumer groups do: orders and orders.audit read the same
// records.
type Names struct{ Namespace string }

// Check says why a channel could not lie on Kafka.
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
			return fmt.Errorf("channel %s: %q cannot be a part of a name: use letters, digits, '_' and '-', begin "+
				"and end with a letter or digit, no '--', and not %q", ch, one, dlqPart)
		}
	}
	longest := len(n.Topic(ch))
	if ch.Queue != "" {
		longest += len(partSeparator) + len(n.Group(driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue})) +
			len(longestSuffix)
	}
	if room := maxTopicName - longest; room < 0 {
		return fmt.Errorf("channel %s: the names of its topics have up to %d characters, %d more than Kafka takes: "+
			"shorten a part of it or the namespace", ch, longest, -room)
	}
	return nil
}

// Topic is what a channel's records lie in: that of its exchange, or its own.
func (n Names) Topic(ch driver.Channel) string {
	if ch.Exchange != "" {
		return n.in(ch.Exchange)
	}
	return n.in(ch.Queue)
}

// Group is who reads a channel. Its dead letters have readers of their own.
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

// DeadLetters is the topic of a channel's dead letters, whether ch is the channel or they.
func (n Names) DeadLetters(ch driver.Channel) string {
	return n.beside(ch, dlqPart)
}

// Tier is the topic in which a channel's records wait for d.
func (n Names) Tier(ch driver.Channel, d time.Duration) string {
	return n.beside(ch, retryPart+partSeparator+shortly(d))
}

// Retries is the group that reads the tiers of a channel whose own topic a share group reads.
func (n Names) Retries(ch driver.Channel) string { return n.beside(ch, retryPart) }

// Split tells what a tier stands beside: the topic that its records come from. false: the topic is not a tier of that
// group.
func Split(topic, group string) (of string, ok bool) {
	of, _, ok = strings.Cut(topic, partSeparator+group+TierInfix)
	return of, ok
}

// Follows says whether the records of a topic keep the partition of what they are a copy of.
func Follows(topic string) bool {
	return strings.HasSuffix(topic, DeadSuffix) || strings.Contains(topic, TierInfix)
}

// Waits says whether a topic is a tier, in which records wait for their retry.
func Waits(topic string) bool {
	return strings.Contains(topic, TierInfix) && !strings.HasSuffix(topic, DeadSuffix)
}

// Parse reads a channel's name as users spell it, with or without @dlq.
func Parse(name string) driver.Channel {
	exchange, queue, many := strings.Cut(strings.TrimSuffix(name, "@"+dlqPart), partSeparator)
	if !many {
		return driver.Channel{Queue: exchange}
	}
	return driver.Channel{Exchange: exchange, Queue: queue}
}

// beside is a topic of one consumer of a topic.
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

// ChannelOf is the channel that a group reads from a topic, whatever their namespace; false where the group's name is
// not one that Godwit gives.
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

// shortly spells a duration in the largest unit that it is whole in: 90s, 10m, 1h.
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
