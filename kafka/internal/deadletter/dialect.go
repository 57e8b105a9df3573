package deadletter

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// The headers of a dead letter have the names that brokers use (KIP-1191). All values are text.
const (
	TopicHeader     = wire.DeadPrefix + "topic"
	PartitionHeader = wire.DeadPrefix + "partition"
	OffsetHeader    = wire.DeadPrefix + "offset"
	GroupHeader     = wire.DeadGroupHeader
	countHeader     = wire.DeadPrefix + "delivery.count"
	messageHeader   = wire.DeadPrefix + "message"
	// historyHeader has every death of the record, the latest last, like the envelope of other backends. It stays when
	// a dead letter is moved back.
	historyHeader = wire.OwnPrefix + "history"
	// LogHeader identifies the log of the record's offset: the offsets of a topic that was created again begin at zero.
	LogHeader = wire.OwnPrefix + "log"

	// maxErrorText bounds the text of the latest error; package envelope bounds those in the history.
	maxErrorText = 1024
	// maxHistory is more than the history's ten deaths need. A longer value was not written by Godwit, and is removed.
	maxHistory = 64 << 10
)

// dialect is the headers in which one kind of writer stores the origin and the reason of a dead letter.
type dialect struct {
	topic, partition, offset string
	group                    string
	error, kinds             []string // the first header that exists counts
	count                    string
	sent                     string   // when the original was sent
	prefixes                 []string // of all headers that describe the death
}

// dialects are the known dialects: Godwit and brokers, two forms of Spring Kafka (with binary numbers), Kafka Connect,
// Kafka Streams.
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

// Copy is the dead letter of a record: its content, with the reason of its rejection. The caller sets the topic. death
// may be nil.
func Copy(r *kgo.Record, group string, death *driver.Death, attempt int32) *kgo.Record {
	d := *cmp.Or(death, &driver.Death{})
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
	if !r.Timestamp.IsZero() && wire.LastHeader(r.Headers, wire.FirstHeader) == nil {
		add(wire.FirstHeader, strconv.FormatInt(r.Timestamp.UnixMilli(), 10))
	}
	return c
}

// addDeath adds a death to a history. An invalid history is replaced.
func addDeath(history []byte, d envelope.Death) string {
	if len(history) > maxHistory {
		history = nil
	}
	if _, err := envelope.Parse(string(history)); err != nil {
		history = nil
	}
	return envelope.AddDeath(string(history), d)
}

// OriginOf is the origin of a record in a channel's dead letters, and the reason of its death, in any known dialect.
// Without a header, the origin is the channel itself. names tell the channel of a topic and a group.
func OriginOf(names layout.Names, from driver.Channel, r *kgo.Record) *driver.Origin {
	o := &driver.Origin{
		Channel: from, ID: string(wire.AppendPosition(nil, r.Topic, r.Partition, r.Offset)),
		OrderKey: string(r.Key),
	}
	o.Channel.DeadLetter = false
	history := deathsOf(r.Headers)
	o.Deaths, o.Earlier = len(history), envelope.IDsOf(history)
	g := dialectOf(r.Headers)
	if g == nil {
		return o
	}
	topic, group := string(first(r.Headers, g.topic)), string(wire.LastHeader(r.Headers, g.group))
	o.ID = string(wire.AppendPosition(nil, topic, int32(number(first(r.Headers, g.partition))),
		number(first(r.Headers, g.offset))))
	if ch, ok := names.ChannelOf(topic, group); ok {
		ch.Ordered = from.Ordered
		o.Channel = ch
	}
	o.Death = driver.Death{
		Channel: o.Channel.String(), Consumer: group,
		Attempts: int32(min(max(0, number(wire.LastHeader(r.Headers, g.count))), 1<<30)),
	}
	o.Death.Error, o.Death.Kind = oneOf(r.Headers, g.error), oneOf(r.Headers, g.kinds)
	n := len(history)
	if n == 0 || history[n-1].ID != o.ID { // another program rejected it, after what Godwit knows of
		o.Deaths++
		return o
	}
	last := history[n-1]
	o.Earlier = envelope.IDsOf(history[:n-1])
	o.Death = driver.Death{
		Error: last.Error, Kind: last.Kind, Consumer: last.Consumer, Channel: last.Channel,
		Attempts: last.Attempts, First: last.First, Last: last.Last,
	}
	return o
}

// TopicOf is the topic that a dead letter is from; false: no header has it.
func TopicOf(hs []kgo.RecordHeader) (string, bool) {
	d := dialectOf(hs)
	if d == nil {
		return "", false
	}
	return string(first(hs, d.topic)), true
}

// HomeOf is the position of the record that a dead letter is of, and the id of that topic, "" if its writer did not
// note it; false: no header has the position.
func HomeOf(hs []kgo.RecordHeader) (h wire.Home, log string, ok bool) {
	d := dialectOf(hs)
	if d == nil {
		return h, "", false
	}
	n, offset := number(first(hs, d.partition)), number(first(hs, d.offset))
	h = wire.Home{Partition: wire.Partition{Topic: string(first(hs, d.topic)), N: int32(n)}, Offset: offset}
	return h, string(wire.LastHeader(hs, LogHeader)), 0 <= n && n <= math.MaxInt32 && offset >= 0
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

// dialectOf is the dialect of the latest death, whose headers are the last ones; nil: there are none.
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

// first is the first value of a header. Spring Kafka appends the headers of retry topics, so the first value is that of
// the original topic.
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

// deathsOf is the history, the latest death last.
func deathsOf(hs []kgo.RecordHeader) []envelope.Death {
	history := wire.LastHeader(hs, historyHeader)
	if len(history) == 0 || len(history) > maxHistory {
		return nil
	}
	e, err := envelope.Parse(string(history))
	if err != nil {
		return nil
	}
	return e.Deaths
}

// number parses decimal text, or the big-endian bytes of an int or a long, as Spring Kafka writes them; otherwise it is
// -1. Such bytes are text only for numbers that are too large to occur.
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

// WithoutDeath returns the headers of a dead letter without those of its death, for the record that is moved back. Its
// history stays. The due time and the number of attempts are removed, too.
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
