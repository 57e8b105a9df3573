package wire

import (
	"maps"
	"sync/atomic"

	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// QueueEntries makes the entries of requests to a queue. The zero value is ready; safe for concurrent use.
type QueueEntries struct {
	attributes attributeCache[types.MessageAttributeValue]
}

// Of is the entries of prepared messages.
func (c *QueueEntries) Of(batch []driver.Prepared) []types.SendMessageBatchRequestEntry {
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i := range batch {
		w := batch[i].Wire.(*prepared)
		if w.sent != nil {
			entries[i] = w.entry(i, queueAttributes(w.sent.header))
			entries[i].MessageSystemAttributes = w.sent.system()
		} else {
			entries[i] = w.entry(i, c.attributes.of(w, queueAttribute, queueAttributes))
		}
	}
	return entries
}

// TopicEntries is queueEntries of a topic.
type TopicEntries struct {
	attributes attributeCache[snstypes.MessageAttributeValue]
}

// Of is the entries of prepared messages.
func (c *TopicEntries) Of(batch []driver.Prepared) []snstypes.PublishBatchRequestEntry {
	entries := make([]snstypes.PublishBatchRequestEntry, len(batch))
	for i := range batch {
		w := batch[i].Wire.(*prepared)
		if w.sent != nil {
			entries[i] = w.publication(i, topicAttributes(w.sent.header))
		} else {
			entries[i] = w.publication(i, c.attributes.of(w, topicAttribute, topicAttributes))
		}
	}
	return entries
}

// queueAttributes is the attributes for SQS.
func queueAttributes(hs []driver.RawHeader) map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(hs))
	for _, h := range hs {
		kind, text := h.Type, string(h.Value)
		a := types.MessageAttributeValue{DataType: &kind}
		if Binary(kind) {
			a.BinaryValue = h.Value
		} else {
			a.StringValue = &text
		}
		out[h.Name] = a
	}
	return out
}

// topicAttributes is the attributes for SNS.
func topicAttributes(hs []driver.RawHeader) map[string]snstypes.MessageAttributeValue {
	out := make(map[string]snstypes.MessageAttributeValue, len(hs))
	for name, a := range queueAttributes(hs) {
		out[name] = snstypes.MessageAttributeValue{
			DataType: a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue,
		}
	}
	return out
}

// system is the system attributes for SQS.
func (f *sentOn) system() map[string]types.MessageSystemAttributeValue {
	if f.trace == "" {
		return nil
	}
	return traced(f.trace)
}

// traced is the system attributes with a trace header.
func traced(trace string) map[string]types.MessageSystemAttributeValue {
	kind := stringType
	return map[string]types.MessageSystemAttributeValue{TraceHeader: {DataType: &kind, StringValue: &trace}}
}

// entry returns the message as entry i of a batch to a queue.
func (w *prepared) entry(i int, attributes map[string]types.MessageAttributeValue) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id: client.EntryID(i), MessageBody: &w.body, MessageAttributes: attributes, DelaySeconds: w.delay,
	}
	if w.group != "" {
		e.MessageGroupId = &w.group
	}
	if w.dedup != "" {
		e.MessageDeduplicationId = &w.dedup
	}
	return e
}

func queueAttribute(kind, value *string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: kind, StringValue: value}
}

// publication returns the message as entry i of a batch to a topic.
func (w *prepared) publication(i int,
	attributes map[string]snstypes.MessageAttributeValue,
) snstypes.PublishBatchRequestEntry {
	e := snstypes.PublishBatchRequestEntry{Id: client.EntryID(i), Message: &w.body, MessageAttributes: attributes}
	if w.group != "" {
		e.MessageGroupId = &w.group
	}
	if w.dedup != "" {
		e.MessageDeduplicationId = &w.dedup
	}
	return e
}

func topicAttribute(kind, value *string) snstypes.MessageAttributeValue {
	return snstypes.MessageAttributeValue{DataType: kind, StringValue: value}
}

// attributeCache remembers the attributes of the message sent last. Most messages of a sender have the same envelope
// and routing key, and a map of attributes costs a kilobyte. The zero value is ready; safe for concurrent use.
type attributeCache[V any] struct {
	last atomic.Pointer[attributeSet[V]]
}

// attributeSet is the attributes of all messages that have one envelope and one routing key. The values point into
// the set, never into a message, whose body would stay in memory with it.
type attributeSet[V any] struct {
	kind, envelope, routingKey string
	values                     map[string]V // shared by requests: never changed
}

// of is the attributes of a message: ours, each made by text of a type and a value, and its headers, made by native.
func (c *attributeCache[V]) of(w *prepared, text func(kind, value *string) V,
	native func([]driver.RawHeader) map[string]V,
) map[string]V {
	if w.sizeName != "" || w.native != nil {
		s := newAttributeSet(w, text) // other messages have other sizes and headers
		maps.Copy(s.values, native(w.native))
		return s.values
	}
	if s := c.last.Load(); s != nil && s.envelope == w.envelope && s.routingKey == w.routingKey {
		return s.values
	}
	s := newAttributeSet(w, text)
	c.last.Store(s)
	return s.values
}

func newAttributeSet[V any](w *prepared, text func(kind, value *string) V) *attributeSet[V] {
	s := &attributeSet[V]{
		kind: stringType, envelope: w.envelope, routingKey: w.routingKey, values: make(map[string]V, 2),
	}
	if s.envelope != "" {
		s.values[EnvelopeAttribute] = text(&s.kind, &s.envelope)
	}
	if s.routingKey != "" {
		s.values[w.routing] = text(&s.kind, &s.routingKey)
	}
	if w.sizeName != "" {
		kind, size := numberType, w.size
		s.values[w.sizeName] = text(&kind, &size)
	}
	return s
}
