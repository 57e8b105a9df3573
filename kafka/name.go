package kafka

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	dlqPart       = "dlq" // reserved: no queue of an exchange has this name
	retryPart     = "retry"
	partSeparator = "."
	maxTopicName  = 249 // Kafka's limit
	// longestSuffix is what the names of a channel's other topics can add to topic and group: that of the dead letters is
	// shorter, and no tier waits for longer.
	longestSuffix = "." + retryPart + ".99999s"
)

// names maps channels to topics and groups. A namespace stands in front of every one of them; "": none.
//
// A queue and an exchange of one name share a topic, as consumer groups do: orders and orders.audit read the same records.
type names struct{ namespace string }

// check says why a channel could not lie on Kafka.
func (n names) check(ch driver.Channel) error {
	parts := []string{ch.Queue}
	switch {
	case ch.Exchange != "" && ch.Queue == "":
		parts = []string{ch.Exchange}
	case ch.Exchange != "":
		parts = []string{ch.Exchange, ch.Queue}
	}
	for _, part := range parts {
		if !legalPart(part) {
			return fmt.Errorf("channel %s: %q cannot be a part of a name: use letters, digits, '_' and '-', begin and end with a letter or digit, no '--', and not %q", ch, part, dlqPart)
		}
	}
	longest := len(n.topic(ch))
	if ch.Queue != "" {
		longest += len(partSeparator) + len(n.group(driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue})) + len(longestSuffix)
	}
	if room := maxTopicName - longest; room < 0 {
		return fmt.Errorf("channel %s: the names of its topics have up to %d characters, %d more than Kafka takes: shorten a part of it or the namespace", ch, longest, -room)
	}
	return nil
}

// topic is what a channel's records lie in: that of its exchange, or its own.
func (n names) topic(ch driver.Channel) string {
	if ch.Exchange != "" {
		return n.in(ch.Exchange)
	}
	return n.in(ch.Queue)
}

// group is who reads a channel. Its dead letters have readers of their own.
func (n names) group(ch driver.Channel) string {
	name := ch.Queue
	if ch.Exchange != "" {
		name = ch.Exchange + partSeparator + name
	}
	if ch.DeadLetter {
		name += partSeparator + dlqPart
	}
	return n.in(name)
}

// deadLetters is the topic of a channel's dead letters, whether ch is the channel or they.
func (n names) deadLetters(ch driver.Channel) string {
	return n.beside(ch, dlqPart)
}

// tier is the topic in which a channel's records wait for d.
func (n names) tier(ch driver.Channel, d time.Duration) string {
	return n.beside(ch, retryPart+partSeparator+shortly(d))
}

// beside is a topic of one consumer of a topic.
func (n names) beside(ch driver.Channel, what string) string {
	ch.DeadLetter = false
	return strings.Join([]string{n.topic(ch), n.group(ch), what}, partSeparator)
}

func (n names) in(name string) string {
	if n.namespace == "" {
		return name
	}
	return n.namespace + partSeparator + name
}

// channelOf is the channel that a group reads from a topic, whatever their namespace; false where the group's name is not one
// that Godwit gives.
func channelOf(topic, group string) (ch driver.Channel, ok bool) {
	space, name, spaced := strings.Cut(topic, partSeparator)
	if !spaced {
		name = topic
	} else if !legalPart(space) {
		return ch, false
	}
	if !legalPart(name) {
		return ch, false
	}
	if group == topic {
		return driver.Channel{Queue: name}, true
	}
	queue, ok := strings.CutPrefix(group, topic+partSeparator)
	if !ok || !legalPart(queue) {
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

// legalPart holds what makes the mapping one to one: letters, digits, '_' and '-', beginning and ending with a letter or
// digit, without "--" (as on every backend), and not the reserved word.
func legalPart(part string) bool {
	if part == "" || part == dlqPart || strings.Contains(part, "--") {
		return false
	}
	for i := range len(part) {
		c := part[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		edge := i == 0 || i == len(part)-1
		if !letter && (edge || c != '_' && c != '-') {
			return false
		}
	}
	return true
}
