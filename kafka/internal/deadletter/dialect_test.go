package deadletter

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

var lettersOfMobile = driver.Channel{Exchange: "wishlist_events", Queue: "mobile", Ordered: true, DeadLetter: true}

func headersOf(pairs ...string) (hs []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		hs = append(hs, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return hs
}

func TestADeadLetterTellsWhy(t *testing.T) {
	r := &kgo.Record{
		Topic: "prod.wishlist_events", Partition: 3, Offset: 77, Key: []byte("ada"), Value: []byte("bad"),
		Headers: headersOf("locale", "de", "__dlq.errors.topic", "forged"),
	}
	at := time.UnixMilli(1_700_000_000_000).UTC()
	death := driver.Death{
		Error: "no such user", Kind: "permanent", Consumer: "billing",
		Channel: "wishlist_events.mobile", Attempts: 2, First: at, Last: at.Add(time.Second),
	}
	c := Copy(r, "prod.wishlist_events.mobile", &death, 3)
	for name, want := range map[string]string{
		"locale": "de", "__dlq.errors.topic": "prod.wishlist_events", "__dlq.errors.partition": "3",
		"__dlq.errors.offset": "77",
		"__dlq.errors.group":  "prod.wishlist_events.mobile", "__dlq.errors.delivery.count": "3",
		"__dlq.errors.message": "no such user",
	} {
		if got := string(wire.LastHeader(c.Headers, name)); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	c.Topic = "prod.wishlist_events.prod.wishlist_events.mobile.dlq"
	death.Attempts = 3
	want := &driver.Origin{
		Channel: driver.Channel{Exchange: "wishlist_events", Queue: "mobile", Ordered: true},
		ID:      "prod.wishlist_events/3/77", OrderKey: "ada", Death: death, Deaths: 1,
	}
	if diff := cmp.Diff(want, OriginOf(layout.Names{}, lettersOfMobile, c)); diff != "" {
		t.Error(diff)
	}
	if len(r.Headers) != 2 || string(r.Headers[1].Value) != "forged" {
		t.Error("Copy changed the original record")
	}
}

// A letter that was moved back and rejected again has its latest death in the headers, and earlier ones in the history.
// The record that is moved back is as it was sent, except for its history.
func TestHistoryOutlivesARedrive(t *testing.T) {
	r := &kgo.Record{Topic: "orders", Offset: 1, Headers: headersOf("locale", "de", "godwit-due", "1",
		"kafka_dlt-original-topic", "x", "retry_topic-attempts", "2")}
	for i, text := range []string{"first", "second", "third"} {
		r.Offset = int64(i)
		c := Copy(r, "orders", &driver.Death{Error: text}, 1)
		c.Headers = append(c.Headers, headersOf("godwit-log", "id")...)
		if o := OriginOf(layout.Names{}, driver.Channel{Queue: "orders", DeadLetter: true}, c); o.Death.Error != text ||
			o.Deaths != i+1 || o.ID != "orders/0/"+string(rune('0'+i)) {
			t.Errorf("death %d is %+v", i, o)
		}
		r.Headers = WithoutDeath(c.Headers)
	}
	e, err := envelope.Parse(string(wire.LastHeader(r.Headers, historyHeader)))
	if err != nil || len(e.Deaths) != 3 || e.Deaths[0].Error != "first" || e.Deaths[2].Error != "third" {
		t.Errorf("the history is %+v, %v", e.Deaths, err)
	}
	if len(r.Headers) != 2 || r.Headers[0].Key != "locale" {
		t.Errorf("the record that is moved back has the headers %v", r.Headers)
	}
}

// Texts are bounded, and are not cut inside a character. An invalid history is replaced.
func TestADeadLetterIsBounded(t *testing.T) {
	for _, history := range []string{"", "nonsense", `{"v":9}`, `{"v":1,"d":[` + strings.Repeat(" ", maxHistory) +
		`]}`} {
		r := &kgo.Record{Topic: "orders", Headers: headersOf("godwit-history", history)}
		for range 20 {
			r = Copy(r, "orders", &driver.Death{Error: strings.Repeat("ä", 5000)}, 1)
			r.Topic = "orders"
		}
		size := 0
		for _, h := range r.Headers {
			size += len(h.Key) + len(h.Value)
			if !utf8.Valid(h.Value) {
				t.Errorf("header %s is not UTF-8", h.Key)
			}
		}
		if size > 20_000 || len(r.Headers) != 8 {
			t.Errorf("%d headers of %d bytes", len(r.Headers), size)
		}
	}
}

// The time at which a record was sent is in its dead letter, whoever wrote it, and the first one counts.
func TestWhenADeadRecordWasSent(t *testing.T) {
	n8 := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	at := time.UnixMilli(1_700_000_000_123)
	ours := Copy(&kgo.Record{Topic: "orders", Timestamp: at}, "orders", nil, 1)
	for name, c := range map[string]struct {
		headers []kgo.RecordHeader
		known   bool
	}{
		"ours": {ours.Headers, true},
		"Spring Kafka's": {headersOf("kafka_dlt-original-topic", "orders", "kafka_dlt-original-timestamp",
			n8(uint64(at.UnixMilli())), "kafka_dlt-original-timestamp", n8(7)), true},
		"Kafka Connect's": {headersOf("__connect.errors.topic", "orders"), false},
		"nobody's":        {headersOf("locale", "de"), false},
	} {
		got, known := SentAt(&kgo.Record{Headers: c.headers})
		if known != c.known || known && !got.Equal(at) {
			t.Errorf("%s: %v, %v", name, got, known)
		}
	}
}

// The origin of a letter and the reason of its death are read in each dialect.
func TestForeignDeadLetters(t *testing.T) {
	n4 := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	n8 := func(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }
	mobile := lettersOfMobile
	mobile.DeadLetter = false
	other := driver.Channel{Queue: "orders", Ordered: true}
	for name, c := range map[string]struct {
		headers []kgo.RecordHeader
		want    driver.Origin
	}{
		"a broker": {
			headersOf("__dlq.errors.topic", "orders", "__dlq.errors.partition", "2", "__dlq.errors.offset", "41",
				"__dlq.errors.group", "orders",
				"__dlq.errors.delivery.count", "5", "__dlq.errors.message",
				"Offset delivery count exceeded the threshold."),
			driver.Origin{
				Channel: other, ID: "orders/2/41",
				Death: driver.Death{
					Error: "Offset delivery count exceeded the threshold.", Consumer: "orders",
					Channel: "orders", Attempts: 5,
				},
			},
		},
		"Spring Kafka": {
			headersOf("kafka_dlt-original-topic", "wishlist_events", "kafka_dlt-original-partition", n4(1),
				"kafka_dlt-original-offset", n8(1<<33),
				"kafka_dlt-original-timestamp", n8(5), "kafka_dlt-original-consumer-group", "audit",
				"kafka_dlt-exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException",
				"kafka_dlt-exception-cause-fqcn", "java.lang.IllegalStateException", "kafka_dlt-exception-message",
				"Listener failed", "kafka_dlt-exception-stacktrace", "at …"),
			driver.Origin{
				Channel: mobile, ID: "wishlist_events/1/8589934592",
				Death: driver.Death{
					Error: "Listener failed", Kind: "java.lang.IllegalStateException",
					Consumer: "audit", Channel: "wishlist_events.mobile",
				},
			},
		},
		"Spring Kafka, of a key": {
			headersOf("kafka_dlt-original-topic", "orders", "kafka_dlt-original-partition", n4(0),
				"kafka_dlt-original-offset", n8(7), "kafka_dlt-original-consumer-group", "orders",
				"kafka_dlt-key-exception-fqcn", "a.B", "kafka_dlt-key-exception-message", "bad key"),
			driver.Origin{Channel: other, ID: "orders/0/7", Death: driver.Death{
				Error: "bad key", Kind: "a.B",
				Consumer: "orders", Channel: "orders",
			}},
		},
		"Spring Kafka, by retry topics": {
			headersOf("kafka_original-topic", "orders", "kafka_original-partition", n4(9), "kafka_original-offset",
				n8(3), "retry_topic-attempts", n4(4),
				"kafka_exception-fqcn", "a.B", "kafka_exception-message", "no", "kafka_dlt-original-consumer-group",
				"orders-retry"),
			driver.Origin{Channel: mobile, ID: "orders/9/3", Death: driver.Death{
				Error: "no", Kind: "a.B",
				Consumer: "orders-retry", Channel: "wishlist_events.mobile", Attempts: 4,
			}},
		},
		"Spring Kafka, moved twice": {
			headersOf("kafka_dlt-original-topic", "orders", "kafka_dlt-original-partition", n4(1),
				"kafka_dlt-original-offset", n8(2),
				"kafka_dlt-original-topic", "orders-retry", "kafka_dlt-original-partition", n4(0),
				"kafka_dlt-original-offset", n8(9), "kafka_dlt-exception-message", "no"),
			driver.Origin{Channel: mobile, ID: "orders/1/2", Death: driver.Death{
				Error:   "no",
				Channel: "wishlist_events.mobile",
			}},
		},
		"Kafka Connect": {
			headersOf("__connect.errors.topic", "orders", "__connect.errors.partition", "0", "__connect.errors.offset",
				"12", "__connect.errors.connector.name", "sink", "__connect.errors.task.id", "0",
				"__connect.errors.stage", "VALUE_CONVERTER", "__connect.errors.class.name",
				"org.apache.kafka.connect.json.JsonConverter",
				"__connect.errors.exception.class.name", "org.apache.kafka.connect.errors.DataException",
				"__connect.errors.exception.message", "cannot convert", "__connect.errors.exception.stacktrace",
				"at …"),
			driver.Origin{Channel: mobile, ID: "orders/0/12", Death: driver.Death{
				Error: "cannot convert",
				Kind:  "org.apache.kafka.connect.errors.DataException", Consumer: "sink",
				Channel: "wishlist_events.mobile",
			}},
		},
		"Kafka Streams": {
			headersOf("__streams.errors.exception", "a.B", "__streams.errors.message", "size is not 4",
				"__streams.errors.topic", "orders", "__streams.errors.partition", "0", "__streams.errors.offset", "5"),
			driver.Origin{Channel: mobile, ID: "orders/0/5", Death: driver.Death{
				Error: "size is not 4", Kind: "a.B",
				Channel: "wishlist_events.mobile",
			}},
		},
		"numbers that are none": {
			headersOf("__dlq.errors.topic", "orders", "__dlq.errors.partition", "a few", "__dlq.errors.delivery.count",
				"-7"),
			driver.Origin{Channel: mobile, ID: "orders/-1/-1", Death: driver.Death{Channel: "wishlist_events.mobile"}},
		},
		"nobody": {
			headersOf("locale", "de"),
			driver.Origin{Channel: mobile, ID: "letters/4/8"},
		},
		"Spring Kafka after a broker": {
			headersOf("__dlq.errors.topic", "old", "__dlq.errors.group", "old", "kafka_dlt-original-topic", "orders",
				"kafka_dlt-original-partition", n4(1), "kafka_dlt-original-offset", n8(2)),
			driver.Origin{Channel: mobile, ID: "orders/1/2", Death: driver.Death{Channel: "wishlist_events.mobile"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.OrderKey = "ada"
			if name != "nobody" {
				c.want.Deaths = 1
			}
			got := OriginOf(layout.Names{}, lettersOfMobile, &kgo.Record{
				Topic: "letters", Partition: 4, Offset: 8, Key: []byte("ada"),
				Headers: c.headers,
			})
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Error(diff)
			}
			if left := WithoutDeath(append(c.headers, headersOf("own", "kept")...)); len(left) > 1 && name != "nobody" {
				t.Errorf("the record that is moved back has the headers %v", left)
			}
		})
	}
}

// A death that Godwit did not write counts beside those in its history.
func TestDeathsBesideTheHistory(t *testing.T) {
	r := Copy(&kgo.Record{Topic: "orders", Offset: 1}, "orders", &driver.Death{Error: "first"}, 1)
	r.Headers = append(WithoutDeath(r.Headers), headersOf("kafka_dlt-original-topic", "orders",
		"kafka_dlt-exception-message", "second")...)
	if o := OriginOf(layout.Names{}, driver.Channel{Queue: "orders"}, r); o.Deaths != 2 || o.Death.Error != "second" {
		t.Errorf("origin %+v", o)
	}
	r.Headers = WithoutDeath(r.Headers)
	if o := OriginOf(layout.Names{}, driver.Channel{Queue: "orders"}, r); o.Deaths != 1 || o.Death != (driver.Death{}) {
		t.Errorf("the origin of a record without a reason is %+v", o)
	}
}

// The position of the original is read from all dialects that have it.
func TestTheHomeOfALetter(t *testing.T) {
	r := Copy(&kgo.Record{Topic: "orders", Partition: 3, Offset: 7}, "orders", nil, 1)
	r.Headers = append(r.Headers, headersOf(LogHeader, "id")...)
	if h, log, ok := HomeOf(r.Headers); !ok || h.String() != "orders/3/7" || log != "id" {
		t.Errorf("the home is %s of log %q, %v", h, log, ok)
	}
	for _, hs := range [][]kgo.RecordHeader{
		nil, headersOf("__connect.errors.topic", "orders"),
		headersOf("__dlq.errors.topic", "orders", "__dlq.errors.partition", "-1", "__dlq.errors.offset", "1"),
		headersOf("__dlq.errors.topic", "orders", "__dlq.errors.partition", "9999999999", "__dlq.errors.offset", "1"),
	} {
		if h, _, ok := HomeOf(hs); ok {
			t.Errorf("%v has the home %s", hs, h)
		}
	}
}

// Any record has an origin, and can be rejected and moved back, without a panic.
func FuzzOriginOf(f *testing.F) {
	f.Add([]byte("a\x00b\x00kafka_dlt-original-topic\x00orders\x00kafka_dlt-original-partition\x00\x00\x00\x00\x01"))
	f.Add([]byte("godwit-history\x00{\"v\":1,\"d\":[{\"id\":\"x/0/1\"}]}\x00__dlq.errors.topic\x00x\x00__dlq.errors.offset\x001"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &kgo.Record{Key: data, Value: data}
		for i, parts := 0, bytes.Split(data, []byte{0}); i+1 < len(parts); i += 2 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(parts[i]), Value: parts[i+1]})
		}
		if o := OriginOf(layout.Names{}, driver.Channel{Queue: "q", DeadLetter: true}, r); o.Channel.DeadLetter ||
			o.Death.Attempts < 0 {
			t.Errorf("origin %+v", o)
		}
		dead := Copy(r, "g", &driver.Death{Error: string(data)}, 1)
		if dialectOf(dead.Headers) != &dialects[0] && r.Topic != "" {
			t.Error("the dead letter has no origin")
		}
		for _, h := range WithoutDeath(dead.Headers) {
			if h.Key == OffsetHeader {
				t.Error("the record that is moved back still has headers of its death")
			}
		}
	})
}
