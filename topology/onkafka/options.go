package onkafka

import (
	"cmp"
	"strings"

	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/topology"
)

// Options returns the options of the backend on which the channels of a declaration are, with the partitions,
// replication, ordering, retries and tiers of its topics. Add to them what no declaration has: the brokers, a store for
// its bucket of payloads, a logger.
func Options(s *topology.Spec) *kafka.Options {
	o := &kafka.Options{
		Namespace: s.Namespace, Replication: s.Kafka.Replication,
		ChannelOptions: channelOptions(&s.Kafka.ChannelKafka),
		Names:          map[string]kafka.Resource{}, Channels: map[string]kafka.ChannelOptions{},
	}
	for name, e := range s.Exchanges {
		o.Channels[name+".*"] = channelOptions(&e.Kafka)
		if e.Topic != "" {
			o.Names[name+".*"] = kafka.Resource{Topic: e.Topic}
		}
	}
	for name, c := range s.Channels {
		own := channelOptions(&c.Kafka)
		if exchange, many := exchangeOf(name, s); many { // the settings of the topic are the exchange's
			topic := channelOptions(&exchange.Kafka)
			own.Partitions, own.Retention, own.TopicConfig = topic.Partitions, topic.Retention, topic.TopicConfig
			own.Ordering, own.Retries = cmp.Or(own.Ordering, topic.Ordering), cmp.Or(own.Retries, topic.Retries)
			if own.Tiers == nil {
				own.Tiers = topic.Tiers
			}
		}
		o.Channels[name] = own
		if c.Queue != "" || c.DeadLetters != "" {
			o.Names[name] = kafka.Resource{Topic: c.Queue, DeadLetters: c.DeadLetters}
		}
	}
	return o
}

func exchangeOf(name string, s *topology.Spec) (topology.Exchange, bool) {
	exchange, _, many := strings.Cut(name, ".")
	return s.Exchanges[exchange], many
}

// channelOptions are the settings of a topic and its consumers.
func channelOptions(k *topology.ChannelKafka) kafka.ChannelOptions {
	return kafka.ChannelOptions{
		Partitions: k.Partitions, Retention: k.Retention, Tiers: k.Tiers, TopicConfig: k.Config,
		Ordering: map[string]kafka.Ordering{
			"key": kafka.OrderByKey, "partition": kafka.OrderByPartition, "none": kafka.OrderNone,
		}[k.Ordering],
		Retries: map[string]kafka.Retries{
			"block": kafka.RetryBlock, "park": kafka.RetryPark, "alone": kafka.RetryAlone,
		}[k.Retries],
	}
}
