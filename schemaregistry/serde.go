package schemaregistry

import (
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/godwitmq/godwit"
)

// Schema is a registered schema.
type Schema struct {
	sr.Schema
	ID int
	// Index is the position of the message in its file, for protocol buffers; nil for others.
	Index []int
}

// Serde encodes and decodes payloads, which are bodies without the id in front. Its functions must be safe for
// concurrent use. One of them may be nil, for a codec that only sends or only receives.
type Serde struct {
	Encode func(s Schema, v any) ([]byte, error)
	// Decode decodes a payload that was encoded with the schema into v, a pointer. An Avro library needs the schema; it
	// should keep what it makes of it, by Schema.ID.
	Decode func(s Schema, payload []byte, v any) error
}

// Payload makes a Serde of a codec that needs no schema: godwit.JSON for JSON Schema, godwitproto.Binary for protocol
// buffers. It does not check that a value fits its schema.
func Payload(c godwit.Codec) Serde {
	return Serde{
		Encode: func(_ Schema, v any) ([]byte, error) { return c.Encode(v) },
		Decode: func(_ Schema, payload []byte, v any) error { return c.Decode(payload, v) },
	}
}

// TopicName is the subject of the values of a topic, if the topic has one type of values: Confluent's
// TopicNameStrategy, which most programs use.
func TopicName(topic string) string { return topic + "-value" }

// RecordName is the subject of a type of values in all topics, by the full name of the type: RecordNameStrategy.
func RecordName(record string) string { return record }

// TopicRecordName is the subject of a type of values in one topic: TopicRecordNameStrategy.
func TopicRecordName(topic, record string) string { return topic + "-" + record }
