package snssqs

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

// rawFormat is the driver.Raw.Format of messages of SQS.
const rawFormat = "sqs"

// Raw implements driver.RawReader.
func (r *receiver) Raw(h driver.Handle) driver.Raw { return h.Ref.(*message).raw() }

// raw is the message as received.
func (m *message) raw() driver.Raw {
	raw := driver.Raw{Format: rawFormat, Trace: m.Attributes[traceHeader]}
	switch {
	case m.Body != nil:
		raw.Body = []byte(*m.Body)
	case m.encoding == envelope.Plain:
		raw.Body = m.body
	default:
		raw.Body = []byte(m.encoding.Text(m.body))
	}
	if group, ok := m.Attributes["MessageGroupId"]; ok {
		raw.Key = []byte(group)
	}
	for _, name := range slices.Sorted(maps.Keys(m.MessageAttributes)) {
		raw.Header = append(raw.Header, rawAttribute(name, m.MessageAttributes[name]))
	}
	return raw
}

func rawAttribute(name string, a types.MessageAttributeValue) driver.RawHeader {
	h := driver.RawHeader{Name: name, Type: aws.ToString(a.DataType), Value: a.BinaryValue}
	if !binary(h.Type) {
		h.Value = []byte(aws.ToString(a.StringValue))
	}
	return h
}

// binary reports whether values of a type of attributes are bytes, and not text.
func binary(kind string) bool {
	base, _, _ := strings.Cut(kind, ".")
	return base == "Binary"
}
