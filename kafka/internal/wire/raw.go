package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// RawFormat is the driver.Raw.Format of records of Kafka.
const RawFormat = "kafka"

// Raw is a record as it is in its topic. It shares memory with the record.
func Raw(r *kgo.Record) driver.Raw {
	raw := driver.Raw{Format: RawFormat, Body: r.Value, Key: r.Key}
	if len(r.Headers) > 0 {
		raw.Header = make([]driver.RawHeader, len(r.Headers))
	}
	for i, h := range r.Headers {
		raw.Header[i] = driver.RawHeader{Name: h.Key, Value: h.Value}
	}
	return raw
}

// Record is the record of a raw message. The caller sets the topic. It shares memory with the raw message.
func Record(raw *driver.Raw) (*kgo.Record, error) {
	if raw.Format != RawFormat {
		return nil, fmt.Errorf("its format is %q, and Kafka carries only messages of the format %q", raw.Format, RawFormat)
	}
	if raw.Trace != "" {
		return nil, fmt.Errorf("it has a trace header apart from the others, which records of Kafka do not have")
	}
	r := &kgo.Record{Key: raw.Key, Value: raw.Body}
	if len(raw.Header) > 0 {
		r.Headers = make([]kgo.RecordHeader, len(raw.Header))
	}
	for i, h := range raw.Header {
		r.Headers[i] = kgo.RecordHeader{Key: h.Name, Value: h.Value}
	}
	return r, nil
}

// Original is a record of a tier as it was before, without the tier's headers. Any other record is unchanged.
func Original(r *kgo.Record) *kgo.Record {
	where, ok := HomeOf(r)
	if !ok {
		return r
	}
	first := *r
	first.Context = nil // the copy does not belong to the client
	first.Topic, first.Partition, first.Offset = where.Topic, where.N, where.Offset
	first.Timestamp = SentAt(r)
	first.Headers = nil
	for _, h := range r.Headers {
		if !OfTiers(h.Key) {
			first.Headers = append(first.Headers, h)
		}
	}
	return &first
}
