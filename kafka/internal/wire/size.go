package wire

import "github.com/twmb/franz-go/pkg/kgo"

const (
	// batchOverhead is what a batch of one record has around its record, at most: the batch's header, and the lengths
	// and differences that the record begins with.
	batchOverhead = 61 + 5 + 1 + 10 + 5 + 5 + 5 + 5
	// headerOverhead is what a header has beside its name and value, at most.
	headerOverhead = 5 + 5
)

// Size is how large a record is on the wire, at most, in a batch of its own.
func Size(r *kgo.Record) int {
	n := batchOverhead + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += headerOverhead + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}
