package wire

import "github.com/twmb/franz-go/pkg/kgo"

const (
	// batchOverhead is the largest size of a batch of one record without the content of the record: the batch's header,
	// and the lengths and differences at the record's beginning.
	batchOverhead = 61 + 5 + 1 + 10 + 5 + 5 + 5 + 5
	// headerOverhead is the largest size of a header without its name and value.
	headerOverhead = 5 + 5
)

// Size is the largest size that a record can have on the wire, in a batch of its own.
func Size(r *kgo.Record) int {
	n := batchOverhead + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += headerOverhead + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}
