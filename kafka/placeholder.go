package kafka

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/twmb/franz-go/pkg/kgo"
)

type names struct{ namespace string }

func (n names) check(ch driver.Channel) error { return nil }
func legalPart(s string) bool                 { return s != "" }
func (n names) topic(ch driver.Channel) string {
	t := ch.Queue
	if ch.Exchange != "" {
		t = ch.Exchange
	}
	if n.namespace != "" {
		t = n.namespace + "." + t
	}
	return t
}
func (n names) group(ch driver.Channel) string {
	g := ch.Queue
	if ch.Exchange != "" {
		g = ch.Exchange + "." + ch.Queue
	}
	if n.namespace != "" {
		g = n.namespace + "." + g
	}
	if ch.DeadLetter {
		g += ".dlq"
	}
	return g
}
func (n names) deadLetters(ch driver.Channel) string {
	ch.DeadLetter = false
	return n.topic(ch) + "." + n.group(ch) + ".dlq"
}
func (n names) tier(ch driver.Channel, d time.Duration) string {
	ch.DeadLetter = false
	return fmt.Sprintf("%s.%s.retry.%ds", n.topic(ch), n.group(ch), d/time.Second)
}
func encode(m *driver.Message) (*kgo.Record, error) {
	r := &kgo.Record{Value: m.Body}
	if m.OrderKey != "" {
		r.Key = []byte(m.OrderKey)
	}
	return r, nil
}
func decode(r *kgo.Record, d *driver.Delivery) {
	d.ID = fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Offset)
	d.OrderKey, d.Body, d.Size, d.SentAt = string(r.Key), r.Value, int64(len(r.Value)), r.Timestamp
}
func due(r *kgo.Record) (time.Time, bool) { return time.Time{}, false }
func deadRecord(r *kgo.Record, group string, death *driver.Death, attempt int32) *kgo.Record {
	return &kgo.Record{Key: r.Key, Value: r.Value, Headers: r.Headers}
}
func matches(f driver.Filter, r *kgo.Record) bool { return true }

const (
	dueHeader           = "godwit-due"
	deadGroupHeader     = "__dlq.errors.group"
	deadTopicHeader     = "__dlq.errors.topic"
	deadPartitionHeader = "__dlq.errors.partition"
	deadOffsetHeader    = "__dlq.errors.offset"
)
