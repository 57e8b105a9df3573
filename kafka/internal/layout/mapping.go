package layout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
)

// Place is what a channel uses instead of what it would have by its name. "": by its name.
type Place struct {
	Topic, Group, DeadLetters string

	label string // what the names of tiers and dead letters have of the group; "": nothing
}

// Mapping has the places of channels that use topics and groups of other names. It does not change. The zero value has
// none.
type Mapping struct {
	places  map[driver.Channel]Place
	topics  map[string][]driver.Channel // the channels of a mapped topic
	letters map[string]bool             // the mapped topics of dead letters
}

// NewMapping returns the mapping of some channels of a namespace. An exchange is a channel without a queue.
func NewMapping(namespace string, places map[driver.Channel]Place) Mapping {
	m := Mapping{
		places: maps.Clone(places), topics: map[string][]driver.Channel{}, letters: map[string]bool{},
	}
	for _, ch := range m.Channels() {
		p := places[ch]
		if own := (Names{Namespace: namespace}).Group(ch); p.Group != "" && p.Group != own {
			p.label = groupSeparator + labelOf(p.Group)
			m.places[ch] = p
		}
		if p.Topic != "" {
			m.topics[p.Topic] = append(m.topics[p.Topic], ch)
		}
		if p.DeadLetters != "" {
			m.letters[p.DeadLetters] = true
		}
	}
	return m
}

// Apart reports whether a channel has tiers and dead letters of other names than in [Names.Former].
func (m Mapping) Apart(ch driver.Channel) bool { return m.of(ch).label != "" }

// withoutLabels is a mapping whose groups are not in the names of tiers and dead letters.
func (m Mapping) withoutLabels() Mapping {
	m.places = maps.Clone(m.places)
	for ch, p := range m.places {
		p.label = ""
		m.places[ch] = p
	}
	return m
}

// Channels are those that are mapped, sorted by name. An exchange is a channel without a queue.
func (m Mapping) Channels() []driver.Channel {
	return slices.SortedFunc(maps.Keys(m.places), func(x, y driver.Channel) int {
		return cmp.Compare(x.String(), y.String())
	})
}

// Maps reports whether the topic that a channel reads, or the one of its dead letters, is mapped. The topic in which
// messages wait for their time never is.
func (m Mapping) Maps(ch driver.Channel) bool {
	switch {
	case ch.Later:
		return false
	case ch.DeadLetter:
		return m.of(ch).DeadLetters != ""
	}
	return m.topic(ch) != ""
}

// Keeps reports whether a channel must not be removed, because its topic or its group is mapped. The dead letters of a
// mapped channel may be removed, if they are not mapped themselves, and so may its messages that wait for their time.
func (m Mapping) Keeps(ch driver.Channel) bool {
	if ch.DeadLetter || ch.Later {
		return m.Maps(ch)
	}
	p := m.of(ch)
	return p.Topic != "" || p.Group != ""
}

// Conflict returns an error if a channel that is not mapped has what is mapped for another channel. n has this mapping.
func (m Mapping) Conflict(n Names, ch driver.Channel) error {
	ch = key(ch)
	if _, mapped := m.places[ch]; mapped {
		return nil
	}
	// Without a mapping, a queue and an exchange of the same name share a topic.
	queue, exchange := driver.Channel{Queue: ch.Exchange}, driver.Channel{Exchange: ch.Queue}
	switch {
	case ch.Exchange == "" && m.topic(exchange) != "":
		return fmt.Errorf("channel %s is not mapped, but %s is, to topic %s: map both, or use another name", ch, exchange,
			m.topic(exchange))
	case ch.Exchange != "" && m.topic(ch) == "" && m.topic(queue) != "":
		return fmt.Errorf("the topic of channel %s is not mapped, but that of %s is, to topic %s: map %s.* as well, or "+
			"use another name", ch, queue, m.topic(queue), ch.Exchange)
	}
	topic, group := n.Topic(ch), n.Group(ch)
	for _, other := range m.Channels() {
		if ch.Queue != "" && other.Queue != "" && n.Topic(other) == topic && n.Group(other) == group {
			return fmt.Errorf("channels %s and %s would both be group %s of topic %s, and each would get a part of the "+
				"records: map one of them to another group", ch, other, group, topic)
		}
		if m.of(other).DeadLetters == topic {
			return fmt.Errorf("topic %s of channel %s is mapped as the dead letters of %s: read it as %s@%s", topic, ch,
				other, other, dlqPart)
		}
	}
	return nil
}

// of is the place of a channel, whatever the options of a consumer add to its name.
func (m Mapping) of(ch driver.Channel) Place { return m.places[key(ch)] }

// topic is the topic that is mapped for a channel; "": none.
func (m Mapping) topic(ch driver.Channel) string {
	if ch.Exchange != "" {
		ch.Queue = ""
	}
	return m.of(ch).Topic
}

// sharing are the channels of a mapped topic.
func (m Mapping) sharing(topic string) []driver.Channel { return m.topics[topic] }

// isLetters reports whether a topic is mapped as that of a channel's dead letters.
func (m Mapping) isLetters(topic string) bool { return m.letters[topic] }

func key(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Queue: ch.Queue}
}

const (
	// groupSeparator stands before a mapped group in the names of its tiers and dead letters. No part of a channel's
	// name has it.
	groupSeparator = "--"
	// labelMost is how long the name of a group may be that is in the name of a topic as it is.
	labelMost = 40
	// labelText is how much of another group's name is there, for readers. Its hash tells the groups apart.
	labelText, labelHash = 26, 12
)

// labelOf is a group as a part of a topic's name. Groups may have any characters and any length.
func labelOf(group string) string {
	if len(group) <= labelMost && !strings.Contains(group, groupSeparator) &&
		!strings.ContainsFunc(group, func(c rune) bool { return !inTopics(c) }) {
		return group
	}
	text := strings.Map(func(c rune) rune {
		if !inTopics(c) {
			return '_'
		}
		return c
	}, group)
	for strings.Contains(text, groupSeparator) {
		text = strings.ReplaceAll(text, groupSeparator, "-")
	}
	hash := sha256.Sum256([]byte(group))
	return text[:min(len(text), labelText)] + groupSeparator + hex.EncodeToString(hash[:labelHash/2])
}

// inTopics reports whether a character may be in the name of a topic.
func inTopics(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)
}
