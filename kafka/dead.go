package kafka

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Headers of a dead letter, under the names that brokers write themselves (KIP-1191). All are text.
const (
	dlqPrefix           = "__dlq.errors."
	deadTopicHeader     = dlqPrefix + "topic"
	deadPartitionHeader = dlqPrefix + "partition"
	deadOffsetHeader    = dlqPrefix + "offset"
	deadGroupHeader     = dlqPrefix + "group"
	deadCountHeader     = dlqPrefix + "delivery.count"
	deadMessageHeader   = dlqPrefix + "message"
	// historyHeader holds every death of the record, the latest last, as an envelope does on other backends. It stays when a
	// dead letter goes back to where it was.
	historyHeader = ownPrefix + "history"

	// maxErrorText bounds an error's text; the history bounds its own.
	maxErrorText = 1024
	// maxHistory is more than ten deaths take. What is longer is not ours and is not carried on.
	maxHistory = 64 << 10
)

// graveyard is how one kind of writer spells where a dead letter was and why it died.
type graveyard struct {
	topic, partition, offset string
	group                    string
	error, kinds             []string // the first that is there counts
	count                    string
	prefixes                 []string // all headers that begin so are of the death
}

// graveyards are the writers that are understood: Godwit and brokers, two forms of Spring Kafka (with numbers in binary), Kafka
// Connect, Kafka Streams.
var graveyards = []graveyard{
	{
		topic: deadTopicHeader, partition: deadPartitionHeader, offset: deadOffsetHeader, group: deadGroupHeader,
		error: []string{deadMessageHeader}, count: deadCountHeader, prefixes: []string{dlqPrefix, logHeader},
	},
	{
		topic: "kafka_dlt-original-topic", partition: "kafka_dlt-original-partition", offset: "kafka_dlt-original-offset",
		group: "kafka_dlt-original-consumer-group",
		error: []string{"kafka_dlt-exception-message", "kafka_dlt-key-exception-message"},
		kinds: []string{"kafka_dlt-exception-cause-fqcn", "kafka_dlt-exception-fqcn", "kafka_dlt-key-exception-fqcn"},
		count: "retry_topic-attempts", prefixes: []string{"kafka_dlt-", "retry_topic-"},
	},
	{
		topic: "kafka_original-topic", partition: "kafka_original-partition", offset: "kafka_original-offset",
		group: "kafka_dlt-original-consumer-group",
		error: []string{"kafka_exception-message", "kafka_key-exception-message"},
		kinds: []string{"kafka_exception-cause-fqcn", "kafka_exception-fqcn", "kafka_key-exception-fqcn"},
		count: "retry_topic-attempts", prefixes: []string{"kafka_original-", "kafka_exception-", "kafka_key-exception-"},
	},
	{
		topic: "__connect.errors.topic", partition: "__connect.errors.partition", offset: "__connect.errors.offset",
		group: "__connect.errors.connector.name", error: []string{"__connect.errors.exception.message"},
		kinds: []string{"__connect.errors.exception.class.name"}, prefixes: []string{"__connect.errors."},
	},
	{
		topic: "__streams.errors.topic", partition: "__streams.errors.partition", offset: "__streams.errors.offset",
		error: []string{"__streams.errors.message"}, kinds: []string{"__streams.errors.exception"}, prefixes: []string{"__streams.errors."},
	},
}

// deadRecord is the copy of a record that died: all of it, and why. Its topic is the caller's matter. death may be nil.
func deadRecord(r *kgo.Record, group string, death *driver.Death, attempt int32) *kgo.Record {
	var d driver.Death
	if death != nil {
		d = *death
	}
	d.Attempts = max(d.Attempts, attempt)
	c := &kgo.Record{Key: r.Key, Value: r.Value, Headers: make([]kgo.RecordHeader, 0, len(r.Headers)+7)}
	for _, h := range r.Headers {
		if h.Key != historyHeader && !strings.HasPrefix(h.Key, dlqPrefix) {
			c.Headers = append(c.Headers, h)
		}
	}
	add := func(name, value string) {
		c.Headers = append(c.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	add(historyHeader, bury(lastHeader(r.Headers, historyHeader), envelope.Death{
		ID: string(appendPosition(nil, r.Topic, r.Partition, r.Offset)), Error: d.Error, Kind: d.Kind, Consumer: d.Consumer,
		Channel: d.Channel, Attempts: d.Attempts, First: d.First, Last: d.Last,
	}))
	add(deadTopicHeader, r.Topic)
	add(deadPartitionHeader, strconv.Itoa(int(r.Partition)))
	add(deadOffsetHeader, strconv.FormatInt(r.Offset, 10))
	add(deadGroupHeader, group)
	if d.Attempts > 0 {
		add(deadCountHeader, strconv.Itoa(int(d.Attempts)))
	}
	if d.Error != "" {
		add(deadMessageHeader, strings.ToValidUTF8(d.Error[:min(len(d.Error), maxErrorText)], ""))
	}
	return c
}

// bury adds a death to a history. One that is not ours is begun anew.
func bury(history []byte, d envelope.Death) string {
	if len(history) > maxHistory {
		history = nil
	}
	if _, err := envelope.Parse(string(history)); err != nil {
		history = nil
	}
	return envelope.Bury(string(history), d)
}

// origin is where a record of a channel's dead letters was, and why it died, whoever wrote that down. What nobody wrote is
// that it was in this channel.
func origin(from driver.Channel, r *kgo.Record) *driver.Origin {
	o := &driver.Origin{Channel: from, ID: string(appendPosition(nil, r.Topic, r.Partition, r.Offset)), OrderKey: string(r.Key)}
	o.Channel.DeadLetter = false
	g := graveOf(r.Headers)
	if g == nil {
		return o
	}
	topic, group := string(g.first(r.Headers, g.topic)), string(lastHeader(r.Headers, g.group))
	o.ID = string(appendPosition(nil, topic, int32(number(g.first(r.Headers, g.partition))), number(g.first(r.Headers, g.offset))))
	if ch, ok := channelOf(topic, group); ok {
		ch.Ordered = from.Ordered
		o.Channel = ch
	}
	o.Death = driver.Death{Channel: o.Channel.String(), Consumer: group, Attempts: int32(min(max(0, number(lastHeader(r.Headers, g.count))), 1<<30))}
	o.Death.Error, o.Death.Kind = oneOf(r.Headers, g.error), oneOf(r.Headers, g.kinds)
	if d, ok := lastDeath(r.Headers); ok && d.ID == o.ID {
		o.Death = driver.Death{Error: d.Error, Kind: d.Kind, Consumer: d.Consumer, Channel: d.Channel, Attempts: d.Attempts, First: d.First, Last: d.Last}
	}
	return o
}

// graveOf is who wrote down the latest death: its headers stand last. nil: nobody did.
func graveOf(hs []kgo.RecordHeader) *graveyard {
	for i := len(hs) - 1; i >= 0; i-- {
		for g := range graveyards {
			if hs[i].Key == graveyards[g].topic && len(hs[i].Value) > 0 {
				return &graveyards[g]
			}
		}
	}
	return nil
}

// first is the first value of a header: Spring adds its own behind those of the topics in which a record waited, and where it was
// at first is what counts.
func (g *graveyard) first(hs []kgo.RecordHeader, name string) []byte {
	for i := range hs {
		if hs[i].Key == name {
			return hs[i].Value
		}
	}
	return nil
}

func oneOf(hs []kgo.RecordHeader, names []string) string {
	for _, name := range names {
		if value := lastHeader(hs, name); len(value) > 0 {
			return string(value)
		}
	}
	return ""
}

func lastDeath(hs []kgo.RecordHeader) (d envelope.Death, ok bool) {
	history := lastHeader(hs, historyHeader)
	if len(history) == 0 || len(history) > maxHistory {
		return d, false
	}
	e, err := envelope.Parse(string(history))
	if err != nil || len(e.Deaths) == 0 {
		return d, false
	}
	return e.Deaths[len(e.Deaths)-1], true
}

// number reads decimal text, or the big-endian bytes of an int or a long, which Spring Kafka writes; what is neither is -1. The
// bytes of a number that anybody has are never all digits.
func number(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	switch len(value) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value)))
	case 8:
		return int64(binary.BigEndian.Uint64(value))
	}
	return -1
}

// risen are the headers of a dead letter without those of its death: what goes back. Its history stays; a delay is over, and
// attempts are counted anew.
func risen(hs []kgo.RecordHeader) []kgo.RecordHeader {
	out := make([]kgo.RecordHeader, 0, len(hs))
next:
	for _, h := range hs {
		if h.Key == dueHeader || h.Key == homeHeader || h.Key == attemptHeader {
			continue
		}
		for g := range graveyards {
			for _, prefix := range graveyards[g].prefixes {
				if strings.HasPrefix(h.Key, prefix) {
					continue next
				}
			}
		}
		out = append(out, h)
	}
	return out
}
