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

// Catalog lists the channels of the namespace. Topics of Kafka have no tags, so the names of topics and groups decide:
// without a namespace, a topic of another program is listed, too, if its name could be that of a channel. A topic that
// nobody has consumed is listed as a one-to-one channel. Order is a choice of each consumer, so Ordered is never set.
func (b *Backend) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	topics, err := b.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", failure.Classify(err))
	}
	groups, err := b.admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups: %w", failure.Classify(err))
	}
	letters := slices.DeleteFunc(slices.Collect(maps.Keys(topics)), func(topic string) bool {
		return !strings.HasSuffix(topic, layout.DeadSuffix)
	})
	found := map[driver.Channel]string{} // the topic of each channel
	for topic := range topics {
		ch, ok := b.names.Base(topic)
		if !ok {
			continue
		}
		queues := 0
		note := func(c driver.Channel, at string) {
			if found[c] = at; c.Exchange != "" {
				found[driver.Channel{Exchange: c.Exchange}] = topic
			}
			queues++
		}
		for group := range groups {
			if c, ok := b.names.Reads(topic, group); ok {
				note(c, topic)
			}
		}
		for _, other := range letters {
			if c, ok := b.names.Letters(topic, other); ok {
				note(c, topic)
				c.DeadLetter = true
				note(c, other)
			}
		}
		if queues == 0 {
			found[ch] = topic
		}
	}
	for _, other := range letters { // also of channels that were removed
		if c, ok := b.names.LettersOf(other); ok && found[c] == "" {
			found[c] = other
		}
	}
	all := make([]driver.ChannelInfo, 0, len(found))
	for _, c := range slices.SortedFunc(maps.Keys(found), func(x, y driver.Channel) int {
		return cmp.Compare(x.String(), y.String())
	}) {
		all = append(all, driver.ChannelInfo{Channel: c, Address: found[c]})
	}
	return all, nil
}
