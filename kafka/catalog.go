package kafka

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Catalog lists the channels of the namespace, and those of Options.Names whose topics exist. Topics of Kafka have no
// tags, so the names of topics and groups decide: without a namespace, a topic of another program is listed, too, if
// its name could be that of a channel. A topic that nobody has consumed is listed as a one-to-one channel. Order is a
// choice of each consumer, so Ordered is never set.
func (b *Backend) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	topics, err := b.cluster.Admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", failure.Classify(err))
	}
	groups, err := b.cluster.Groups(ctx)
	if err != nil {
		return nil, err
	}
	c := inventory{names: b.names, groups: groups, found: map[driver.Channel]string{}}
	for topic := range topics {
		if strings.HasSuffix(topic, layout.DeadSuffix) && !b.names.IsOthers(topic) {
			c.letters = append(c.letters, topic)
		}
	}
	for topic := range topics {
		c.named(topic)
	}
	for _, ch := range b.names.Mapping.Channels() {
		if topics.Has(b.names.Topic(ch)) {
			c.mapped(ch)
		}
		if ch.DeadLetter = true; b.names.Mapping.Maps(ch) && topics.Has(b.names.DeadLetters(ch)) {
			c.found[ch] = b.names.DeadLetters(ch)
		}
	}
	for _, other := range c.letters { // also of channels that were removed
		if ch, ok := b.names.LettersOf(other); ok && c.found[ch] == "" && !b.names.Mapping.Maps(ch) {
			c.found[ch] = other
		}
	}
	all := make([]driver.ChannelInfo, 0, len(c.found))
	for _, ch := range slices.SortedFunc(maps.Keys(c.found), func(x, y driver.Channel) int {
		return cmp.Compare(x.String(), y.String())
	}) {
		all = append(all, driver.ChannelInfo{Channel: ch, Address: c.found[ch], Mapped: b.names.Mapping.Keeps(ch)})
	}
	return all, nil
}

// inventory is what topics and groups tell about channels.
type inventory struct {
	names   layout.Names
	groups  []string
	letters []string                  // topics whose names are those of dead letters
	found   map[driver.Channel]string // the topic of each channel
}

// named adds the channels of a topic whose name is that of a channel.
func (c *inventory) named(topic string) {
	ch, ok := c.names.Base(topic)
	if !ok || c.names.IsOthers(topic) {
		return
	}
	queues := 0
	note := func(ch driver.Channel, at string) {
		if c.found[ch] = at; ch.Exchange != "" {
			c.found[driver.Channel{Exchange: ch.Exchange}] = topic
		}
		queues++
	}
	for _, group := range c.groups {
		if ch, ok := c.names.Reads(topic, group); ok {
			note(ch, topic)
		}
	}
	for _, other := range c.letters {
		if ch, ok := c.names.Letters(topic, other); ok {
			note(ch, topic)
			if ch.DeadLetter = true; !c.names.Mapping.Maps(ch) {
				note(ch, other)
			}
		}
	}
	if queues == 0 {
		c.found[ch] = topic
	}
}

// mapped adds a channel of Options.Names, and the other channels of a mapped exchange.
func (c *inventory) mapped(ch driver.Channel) {
	topic := c.names.Topic(ch)
	c.found[ch] = topic
	if ch.Exchange == "" {
		return
	}
	exchange := driver.Channel{Exchange: ch.Exchange}
	c.found[exchange] = topic
	for _, group := range c.groups {
		if one, ok := c.names.Reads(topic, group); ok && one.Exchange == ch.Exchange {
			c.found[one] = topic
		}
	}
	for _, other := range c.letters {
		if one, ok := c.names.LettersBeside(exchange, other); ok {
			c.found[one] = topic
		}
	}
}
