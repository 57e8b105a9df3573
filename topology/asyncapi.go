package topology

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

// AsyncAPI returns the declared channels as a document of AsyncAPI 3.0 in JSON, with bindings of SNS and SQS: what is
// sent to exchanges and queues, and what consumers receive. It has no schemas of messages, which the declaration does
// not know; add them to the channels.
func AsyncAPI(s *Spec) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	specs, err := s.resources()
	if err != nil {
		return nil, err
	}
	channels, operations := object{}, object{}
	operation := func(action, channel string) {
		operations[channel+"."+action] = object{
			"action": action, "title": action + " " + channel, "channel": object{"$ref": "#/channels/" + channel},
		}
	}
	for i := range specs {
		one := &specs[i]
		if one.Channel.Queue == "" {
			name := one.Channel.Exchange
			channels[name] = asyncExchange(s, name)
			operation("send", name)
			continue
		}
		name := one.Channel.String()
		channels[name] = asyncQueue(s, one)
		if operation("receive", name); one.Channel.Exchange == "" {
			operation("send", name)
		}
	}
	info := object{"title": "Channels of " + s.name(), "version": "1.0.0"}
	if s.Owner != "" {
		info["contact"] = object{"name": s.Owner}
	}
	return indented(object{
		"asyncapi": "3.0.0", "info": info, "defaultContentType": "application/octet-stream",
		"channels": channels, "operations": operations,
	})
}

func asyncExchange(s *Spec, name string) object {
	e := s.Exchanges[name]
	topic := lastName(e.Topic)
	if topic == "" {
		topic = awsName(s.Namespace, e.Ordered, name)
	}
	ordering := "standard"
	if e.Ordered {
		ordering = "FIFO"
	}
	return object{
		"address": topic, "title": name, "description": "An exchange: each of its queues gets a copy of a message.",
		"tags": []any{object{"name": "owner: " + ownerOf(e.Owner, s.Owner)}},
		"bindings": object{"sns": object{
			"name": topic, "ordering": object{"type": ordering}, "bindingVersion": "0.1.0",
		}},
	}
}

func asyncQueue(s *Spec, one *driver.ChannelSpec) object {
	name := one.Channel.String()
	c, parts := s.Channels[name], []string{one.Channel.Queue}
	about := "A queue."
	if one.Channel.Exchange != "" {
		parts = []string{one.Channel.Exchange, one.Channel.Queue}
		about = "A queue that gets all messages of " + one.Channel.Exchange + "."
		if !c.Filter.empty() {
			about = "A queue that gets the messages of " + one.Channel.Exchange + " with these routing keys: " +
				c.Filter.words() + "."
		}
	}
	queue := func(own string, parts []string, retention time.Duration) object {
		if own = lastName(own); own == "" {
			own = awsName(s.Namespace, one.Channel.Ordered, parts...)
		}
		q := object{
			"name": own, "fifoQueue": one.Channel.Ordered,
			"messageRetentionPeriod": int(orMax(retention) / time.Second),
		}
		if one.Channel.Ordered && one.HighThroughput {
			q["deduplicationScope"], q["fifoThroughputLimit"] = "messageGroup", "perMessageGroupId"
		}
		return q
	}
	main := queue(c.Queue, parts, one.Retention)
	main["deliveryDelay"], main["visibilityTimeout"] = int(one.Delay/time.Second), int(defaultLease/time.Second)
	if one.Lease != 0 {
		main["visibilityTimeout"] = int(one.Lease / time.Second)
	}
	sqs := object{"queue": main, "bindingVersion": "0.2.0"}
	if !one.NoDeadLetters {
		dead := queue(c.DeadLetters, append(parts, part.DeadLetters), one.DeadRetention)
		sqs["deadLetterQueue"] = dead
		main["redrivePolicy"] = object{
			"deadLetterQueue": object{"name": dead["name"]}, "maxReceiveCount": one.MaxReceives,
		}
	}
	return object{
		"address": main["name"], "title": name, "description": about,
		"tags":     []any{object{"name": "owner: " + ownerOf(c.Owner, s.Owner)}},
		"bindings": object{"sqs": sqs},
	}
}

// orMax is how long messages are kept.
func orMax(retention time.Duration) time.Duration {
	if retention == 0 {
		return maxRetention
	}
	return retention
}
