package operate

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

// Catalog is driver.Operations.Catalog, as kafka.Backend describes it.
func Catalog(ctx context.Context, n *Namespace) ([]driver.ChannelInfo, error) {
	if err := n.Channels.Open(); err != nil {
		return nil, err
	}
	topics, err := n.Cluster.Admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", failure.Classify(err))
	}
	groups, err := n.Cluster.Groups(ctx)
	if err != nil {
		return nil, err
	}
	c := inventory{names: n.Channels.Names, groups: groups, found: map[driver.Channel]string{}}
	for topic := range topics {
		if strings.HasSuffix(topic, layout.DeadSuffix) && !n.Channels.IsOthers(topic) {
			c.letters = append(c.letters, topic)
		}
	}
	for topic := range topics {
		c.named(topic)
		if topics.Has(topic) { // a client may know that a topic is missing, because somebody has asked for it
			c.laterChannels(topic)
		}
	}
	for _, ch := range n.Channels.Mapping.Channels() {
		if topics.Has(n.Channels.Topic(ch)) {
			c.mapped(ch)
		}
		if ch.DeadLetter = true; (n.Channels.Mapping.Maps(ch) || n.Channels.Mapping.Apart(ch)) &&
			topics.Has(n.Channels.DeadLetters(ch)) {
			c.found[ch] = n.Channels.DeadLetters(ch)
		}
	}
	for _, other := range c.letters { // also of channels that were removed
		if ch, ok := n.Channels.LettersOf(other); ok && c.found[ch] == "" && !n.Channels.Mapping.Maps(ch) {
			c.found[ch] = other
		}
	}
	all := make([]driver.ChannelInfo, 0, len(c.found))
	for _, ch := range slices.SortedFunc(maps.Keys(c.found), func(x, y driver.Channel) int {
		return cmp.Compare(x.String(), y.String())
	}) {
		all = append(all, driver.ChannelInfo{Channel: ch, Address: c.found[ch], Mapped: n.Channels.Mapping.Keeps(ch)})
	}
	return all, nil
}

// inventory is what topics and groups tell about channels.
type inventory struct {
	names   layout.Names
	groups  []string
	letters []string                  // topics with names of dead letters
	found   map[driver.Channel]string // the topic of each channel
}

// named adds the channels of a topic that has the name of a channel.
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
