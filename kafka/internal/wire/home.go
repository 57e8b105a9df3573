package wire

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers of a record in a tier, in addition to its due time.
const (
	AttemptHeader = OwnPrefix + "attempt" // number of starts
	HomeHeader    = OwnPrefix + "home"    // position of the original: topic/partition/offset
)

// Partition names one partition.
type Partition struct {
	Topic string
	N     int32
}

// String is the partition's name in errors, and the name of its source.
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.N) }

// Home is the position of a record's original in the channel's own topic.
type Home struct {
	Partition
	Offset int64
}

func homeAt(r *kgo.Record) Home { return Home{Partition{r.Topic, r.Partition}, r.Offset} }

// String is the id of deliveries of the original.
func (h Home) String() string { return string(AppendPosition(nil, h.Topic, h.N, h.Offset)) }

// HomeOf reads the position of a record's original; false: the record is not a copy in a tier.
func HomeOf(r *kgo.Record) (h Home, ok bool) {
	parts := strings.Split(Header(r, HomeHeader), "/")
	if len(parts) != 3 {
		return h, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return h, false
	}
	if h.Offset, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return h, false
	}
	h.Topic, h.N = parts[0], int32(n)
	return h, true
}

// HomeOrHere is HomeOf, or the record's own position if it is not a copy.
func HomeOrHere(r *kgo.Record) Home {
	if h, ok := HomeOf(r); ok {
		return h
	}
	return homeAt(r)
}

// Starts is how often a record in a tier was started before.
func Starts(r *kgo.Record) int32 {
	n, err := strconv.ParseInt(Header(r, AttemptHeader), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}
