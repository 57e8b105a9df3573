package deadletter

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Headers of a dead letter, under the names that brokers write themselves (KIP-1191). All are text.
const (
	TopicHeader     = wire.DeadPrefix + "topic"
	PartitionHeader = wire.DeadPrefix + "partition"
	OffsetHeader    = wire.DeadPrefix + "offset"
	GroupHeader     = wire.DeadPrefix + "group"
	countHeader     = wire.DeadPrefix + "delivery.count"
	messageHeader   = wire.DeadPrefix + "message"
	// historyHeader holds every death of the record, the latest last, as an envelope does on other backends. It stays
	// when a dead letter goes back to where it was.
	historyHeader = wire.OwnPrefix + "history"
	// LogHeader says which log a dead letter's offset belongs to: a topic that was created again counts from zero
	// again.
	LogHeader = wire.OwnPrefix + "log"

	// maxErrorText bounds an error's text; the history bounds its own.
	maxErrorText = 1024
	// maxHistory is more than ten deaths take. What is longer is not ours and is not carried on.
	maxHistory = 64 << 10
)

// dialect is how one kind of writer spells where a dead letter was and why it died.
type dialect struct {
	topic, partition, offset string
	group                    string
	error, kinds             []string // the first that is there counts
	count                    string
	sent                     string   // when the record was sent at first
	prefixes                 []string // all headers that begin so are of the death
}

// dialects are those that are understood: Godwit and brokers, two forms of Spring Kafka (with numbers in binary), Kafka
// Connect, Kafka Streams.
var dialects = []dialect{
	{
		topic: TopicHeader, partition: PartitionHeader, offset: OffsetHeader, group: GroupHeader,
		error: []string{messageHeader}, count: countHeader, sent: wire.SentHeader,
		prefixes: []string{wire.DeadPrefix, LogHeader, wire.SentHeader},
	},
	{
		topic: "kafka_dlt-original-topic", partition: "kafka_dlt-original-partition",
		offset: "kafka_dlt-original-offset",
		group:  "kafka_dlt-original-consumer-group",
		error:  []string{"kafka_dlt-exception-message", "kafka_dlt-key-exception-message"},
		kinds:  []string{"kafka_dlt-exception-cause-fqcn", "kafka_dlt-exception-fqcn", "kafka_dlt-key-exception-fqcn"},
		count:  "retry_topic-attempts", sent: "kafka_dlt-original-timestamp",
		prefixes: []string{"kafka_dlt-", "retry_topic-"},
	},
	{
		topic: "kafka_original-topic", partition: "kafka_original-partition", offset: "kafka_original-offset",
		group: "kafka_dlt-original-consumer-group",
		error: []string{"kafka_exception-message", "kafka_key-exception-message"},
		kinds: []string{"kafka_exception-cause-fqcn", "kafka_exception-fqcn", "kafka_key-exception-fqcn"},
		count: "retry_topic-attempts", sent: "kafka_original-timestamp", prefixes: []string{
			"kafka_original-", "kafka_exception-",
			"kafka_key-exception-",
		},
	},
	{
		topic: "__connect.errors.topic", partition: "__connect.errors.partition", offset: "__connect.errors.offset",
		group: "__connect.errors.connector.name", error: []string{"__connect.errors.exception.message"},
		kinds: []string{"__connect.errors.exception.class.name"}, prefixes: []string{"__connect.errors."},
	},
	{
		topic: "__streams.errors.topic", partition: "__streams.errors.partition", offset: "__streams.errors.offset",
		error: []string{"__streams.errors.message"}, kinds: []string{"__streams.errors.exception"},
		prefixes: []string{"__streams.errors."},
	},
}

// Copy is the dead letter of a record: all of it, and why it was rejected. Its topic is the caller's matter. death may
// be nil.
func Copy(r *kgo.Record, group string, death *driver.Death, attempt int32) *kgo.Record {
	var d driver.Death
	if death != nil {
		d = *death
	}
	d.Attempts = max(d.Attempts, attempt)
	c := &kgo.Record{Key: r.Key, Value: r.Value, Headers: make([]kgo.RecordHeader, 0, len(r.Headers)+8)}
	for _, h := range r.Headers {
		if h.Key != historyHeader && h.Key != wire.SentHeader && !strings.HasPrefix(h.Key, wire.DeadPrefix) {
			c.Headers = append(c.Headers, h)
		}
	}
	add := func(name, value string) {
		c.Headers = append(c.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	add(historyHeader, addDeath(wire.LastHeader(r.Headers, historyHeader), envelope.Death{
		ID: string(wire.AppendPosition(nil, r.Topic, r.Partition, r.Offset)), Error: d.Error, Kind: d.Kind,
		Consumer: d.Consumer,
		Channel:  d.Channel, Attempts: d.Attempts, First: d.First, Last: d.Last,
	}))
	add(TopicHeader, r.Topic)
	add(PartitionHeader, strconv.Itoa(int(r.Partition)))
	add(OffsetHeader, strconv.FormatInt(r.Offset, 10))
	add(GroupHeader, group)
	add(wire.SentHeader, strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
	if d.Attempts > 0 {
		add(countHeader, strconv.Itoa(int(d.Attempts)))
	}
	if d.Error != "" {
		add(messageHeader, strings.ToValidUTF8(d.Error[:min(len(d.Error), maxErrorText)], ""))
	}
	return c
}

// addDeath adds a death to a history. One that is not ours is replaced.
func addDeath(history []byte, d envelope.Death) string {
	if len(history) > maxHistory {
		history = nil
	}
	if _, err := envelope.Parse(string(history)); err != nil {
		history = nil
	}
	return envelope.AddDeath(string(history), d)
}

// OriginOf is where a record of a channel's dead letters was, and why it died, whoever wrote that down. What nobody
// wrote is that it was in this channel.
func OriginOf(from driver.Channel, r *kgo.Record) *driver.Origin {
	o := &driver.Origin{
		Channel: from, ID: string(wire.AppendPosition(nil, r.Topic, r.Partition, r.Offset)),
		OrderKey: string(r.Key),
	}
	o.Channel.DeadLetter = false
	g := dialectOf(r.Headers)
	if g == nil {
		return o
	}
	topic, group := string(first(r.Headers, g.topic)), string(wire.LastHeader(r.Headers, g.group))
	o.ID = string(wire.AppendPosition(nil, topic, int32(number(first(r.Headers, g.partition))),
		number(first(r.Headers, g.offset))))
	if ch, ok := layout.ChannelOf(topic, group); ok {
		ch.Ordered = from.Ordered
		o.Channel = ch
	}
	o.Death = driver.Death{
		Channel: o.Channel.String(), Consumer: group,
		Attempts: int32(min(max(0, number(wire.LastHeader(r.Headers, g.count))), 1<<30)),
	}
	o.Death.Error, o.Death.Kind = oneOf(r.Headers, g.error), oneOf(r.Headers, g.kinds)
	if d, ok := lastDeath(r.Headers); ok && d.ID == o.ID {
		o.Death = driver.Death{
			Error: d.Error, Kind: d.Kind, Consumer: d.Consumer, Channel: d.Channel,
			Attempts: d.Attempts, First: d.First, Last: d.Last,
		}
	}
	return o
}

// TopicOf is the topic that a dead letter was in; false: nobody wrote it down.
func TopicOf(hs []kgo.RecordHeader) (string, bool) {
	d := dialectOf(hs)
	if d == nil {
		return "", false
	}
	return string(first(hs, d.topic)), true
}

// SentAt is when the record of a dead letter was sent, if its writer wrote it down.
func SentAt(r *kgo.Record) (at time.Time, ok bool) {
	g := dialectOf(r.Headers)
	if g == nil || g.sent == "" {
		return at, false
	}
	ms := number(first(r.Headers, g.sent))
	return time.UnixMilli(ms), ms > 0
}

// dialectOf is who wrote down the latest death: its headers stand last. nil: nobody did.
func dialectOf(hs []kgo.RecordHeader) *dialect {
	for i := len(hs) - 1; i >= 0; i-- {
		for g := range dialects {
			if hs[i].Key == dialects[g].topic && len(hs[i].Value) > 0 {
				return &dialects[g]
			}
		}
	}
	return nil
}

// first is the first value of a header: Spring adds its own behind those of the topics in which a record waited, and
// where it was at first is what counts.
func first(hs []kgo.RecordHeader, name string) []byte {
	for i := range hs {
		if hs[i].Key == name {
			return hs[i].Value
		}
	}
	return nil
}

func oneOf(hs []kgo.RecordHeader, names []string) string {
	for _, name := range names {
		if value := wire.LastHeader(hs, name); len(value) > 0 {
			return string(value)
		}
	}
	return ""
}

func lastDeath(hs []kgo.RecordHeader) (d envelope.Death, ok bool) {
	history := wire.LastHeader(hs, historyHeader)
	if len(history) == 0 || len(history) > maxHistory {
		return d, false
	}
	e, err := envelope.Parse(string(history))
	if err != nil || len(e.Deaths) == 0 {
		return d, false
	}
	return e.Deaths[len(e.Deaths)-1], true
}

// number reads decimal text, or the big-endian bytes of an int or a long, which Spring Kafka writes; what is neither is
// -1. The bytes of a number that anybody has are never all digits.
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

// WithoutDeath returns the headers of a dead letter without those of its death, for the record that goes back. Its
// history stays; a delay is over, and attempts are counted from the start.
func WithoutDeath(hs []kgo.RecordHeader) []kgo.RecordHeader {
	out := make([]kgo.RecordHeader, 0, len(hs))
next:
	for _, h := range hs {
		if wire.OfTiers(h.Key) {
			continue
		}
		for g := range dialects {
			for _, prefix := range dialects[g].prefixes {
				if strings.HasPrefix(h.Key, prefix) {
					continue next
				}
			}
		}
		out = append(out, h)
	}
	return out
}
