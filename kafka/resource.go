package kafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Resource replaces the topic and the group that a channel would have by its name with existing ones, whatever their
// names are. Options.Namespace is not put before them. Godwit uses a mapped topic, and never creates, changes or
// deletes it. Tiers, and dead letters without DeadLetters, are named after the channel and, if it is mapped, the group:
// orders.orders--billing.dlq.
type Resource struct {
	// Topic is the topic of a one-to-one channel (orders), or of an exchange (wishlist_events.*). Set it to read from a
	// topic that exists, or to send to it. "": the one that has the channel's name.
	Topic string
	// Group is the consumer group of a channel, and not of an exchange. Set it to go on where the consumers of a group
	// stopped, or when groups have to have names of another form. "": the one that has the channel's name.
	Group string
	// DeadLetters is the topic for rejected records of a channel, and not of an exchange. Set it when other programs
	// read the dead letters, or permissions allow one topic only. "": the one that has the channel's name.
	DeadLetters string
}

// maxTopic is the longest name of a topic that Kafka accepts.
const maxTopic = 249

// mapping checks Options.Names, and returns them for the names of topics and groups.
func (o *Options) mapping() (m layout.Mapping, err error) {
	places := map[driver.Channel]layout.Place{}
	for _, name := range slices.Sorted(maps.Keys(o.Names)) {
		r := o.Names[name]
		ch, err := mappedChannel(name)
		if err == nil {
			err = r.check(ch)
		}
		if err != nil {
			return m, fmt.Errorf("kafka: Options.Names[%q]: %w", name, err)
		}
		if o.DeadLetterQueue != nil && r.DeadLetters != "" {
			return m, fmt.Errorf("kafka: Options.Names[%q].DeadLetters is %s, and Options.DeadLetterQueue takes all dead "+
				"letters: leave out one of them", name, r.DeadLetters)
		}
		if n := o.Channels[name].Partitions; n != 0 && r.Topic != "" {
			return m, fmt.Errorf("kafka: Options.Channels[%q].Partitions is %d, but Options.Names[%q] maps the channel to "+
				"topic %s, which is never changed: leave out Partitions", name, n, name, r.Topic)
		}
		places[ch] = layout.Place{Topic: r.Topic, Group: r.Group, DeadLetters: r.DeadLetters}
	}
	m = layout.NewMapping(o.Namespace, places)
	return m, distinct(layout.Names{Namespace: o.Namespace, Mapping: m})
}

// mappedChannel is the channel of an entry. Its name is spelled as users write it.
func mappedChannel(name string) (driver.Channel, error) {
	if strings.Contains(name, "@") {
		return driver.Channel{}, fmt.Errorf("name the channel itself: its dead letters are the field DeadLetters")
	}
	first, second, many := strings.Cut(name, ".")
	if !part.Legal(first) || many && second != "*" && !part.Legal(second) {
		return driver.Channel{}, fmt.Errorf("it is not the name of a channel: those are spelled orders, " +
			"wishlist_events.* and wishlist_events.mobile; the name of a topic is the field Topic")
	}
	switch {
	case !many:
		return driver.Channel{Queue: first}, nil
	case second == "*":
		return driver.Channel{Exchange: first}, nil
	}
	return driver.Channel{Exchange: first, Queue: second}, nil
}

// check returns an error for a resource that the channel cannot have.
func (r *Resource) check(ch driver.Channel) error {
	switch {
	case *r == Resource{}:
		return fmt.Errorf("it is empty: set Topic, Group or DeadLetters")
	case ch.Queue == "" && (r.Group != "" || r.DeadLetters != ""):
		return fmt.Errorf("it stands for all channels of the exchange, so it has a Topic only: set Group and DeadLetters "+
			"of single channels, as in %s.mobile", ch.Exchange)
	case ch.Exchange != "" && ch.Queue != "" && r.Topic != "":
		return fmt.Errorf("its topic is that of the exchange: set Topic of %s.*, and leave it out here", ch.Exchange)
	case r.Topic != "" && r.Topic == r.DeadLetters:
		return fmt.Errorf("its Topic and DeadLetters are both %s, so that rejected records would be received again: name "+
			"another topic for them", r.Topic)
	}
	for field, topic := range map[string]string{"Topic": r.Topic, "DeadLetters": r.DeadLetters} {
		if topic != "" && !legalTopic(topic) {
			return fmt.Errorf("%s is %q, which is no name of a topic: those have 1 to %d letters, digits, '.', '_' and "+
				"'-'", field, topic, maxTopic)
		}
	}
	return nil
}

// legalTopic reports whether Kafka accepts a name of a topic.
func legalTopic(name string) bool {
	legal := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)
	}
	return name != "." && name != ".." && len(name) <= maxTopic &&
		!strings.ContainsFunc(name, func(c rune) bool { return !legal(c) })
}

// distinct returns an error if two mapped channels would get the records of each other.
func distinct(names layout.Names) error {
	readers, letters := map[[2]string]driver.Channel{}, map[string]driver.Channel{}
	for _, ch := range names.Mapping.Channels() {
		if ch.Queue == "" {
			continue
		}
		at := [2]string{names.Topic(ch), names.Group(ch)}
		if other, twice := readers[at]; twice {
			return fmt.Errorf("kafka: Options.Names: channels %s and %s are both group %s of topic %s, and each would get a "+
				"part of the records: give them different groups", other, ch, at[1], at[0])
		}
		readers[at] = ch
		dead := names.DeadLetters(ch)
		if other, twice := letters[dead]; twice {
			return fmt.Errorf("kafka: Options.Names: channels %s and %s both have their dead letters in topic %s, and a "+
				"requeue of one would send those of the other: give them different topics", other, ch, dead)
		}
		letters[dead] = ch
	}
	for _, ch := range names.Mapping.Channels() {
		if of, dead := letters[names.Topic(ch)]; dead {
			return fmt.Errorf("kafka: Options.Names: topic %s is that of channel %s, and has the dead letters of %s: read "+
				"these as %s@dlq", names.Topic(ch), ch, of, of)
		}
	}
	return nil
}
