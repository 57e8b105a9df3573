package wire

import (
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Size is not less than the encoded batch of a record, and exceeds it only by the lengths that it assumes.
func TestSizeIsAnUpperBound(t *testing.T) {
	const batchHeader = 61 // baseOffset to the number of records, in version 2 of the format
	for _, headers := range []int{0, 1, 50} {
		for _, body := range []int{0, 1, 100, 1 << 20} {
			r := &kgo.Record{Key: []byte("key"), Value: make([]byte, body)}
			encoded := kmsg.Record{TimestampDelta64: 1 << 60, OffsetDelta: 1 << 30, Key: r.Key, Value: r.Value}
			for i := range headers {
				h := kgo.RecordHeader{Key: "header-" + strconv.Itoa(i), Value: []byte("value")}
				r.Headers = append(r.Headers, h)
				encoded.Headers = append(encoded.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
			}
			encoded.Length = int32(len(encoded.AppendTo(nil)))
			real := batchHeader + len(encoded.AppendTo(nil))
			if size := Size(r); size < real || size > real+30+9*headers {
				t.Errorf("%d headers and a body of %d bytes: size %d, encoded %d", headers, body, size, real)
			}
		}
	}
}
