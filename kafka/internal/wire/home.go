package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers of a record in a tier, in addition to its due time.
const (
	AttemptHeader = OwnPrefix + "attempt" // number of starts
	HomeHeader    = OwnPrefix + "home"    // position of the original: topic/partition/offset
	FailedHeader  = OwnPrefix + "failed"  // time of the first failure, in milliseconds since 1970
	// SentHeader is when the original was sent, in milliseconds since 1970. The copy has a timestamp of its own,
	// because topics delete records by it.
	SentHeader = OwnPrefix + "sent"
	// RevivedHeader is the offset of the dead letter from which a record came back to its consumer's tier. Older dead
	// letters of the record do not count any more.
	RevivedHeader = OwnPrefix + "revived"
	// GroupHeader is the group whose retry a record is. In earlier versions two groups of one channel shared its tiers,
	// and each skips the records of the other. A record without it, from an even earlier one, is for all groups.
	GroupHeader = OwnPrefix + "group"
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

// String is the id of deliveries of the original.
func (h Home) String() string { return string(AppendPosition(nil, h.Topic, h.N, h.Offset)) }

// HomeOf reads the position of a record's original; false: the record is not a copy in a tier.
func HomeOf(r *kgo.Record) (h Home, ok bool) {
	return ParseHome(Header(r, HomeHeader))
}

// ParseHome reads a position, as of [Home.String].
func ParseHome(text string) (h Home, ok bool) {
	parts := strings.Split(text, "/")
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
	return Home{Partition{r.Topic, r.Partition}, r.Offset}
}

// OfTiers says whether a header is written for a record in a tier only.
func OfTiers(name string) bool {
	switch name {
	case DueHeader, AttemptHeader, HomeHeader, FailedHeader, SentHeader, RevivedHeader, GroupHeader:
		return true
	}
	return false
}

// SentAt is when a record was sent at first.
func SentAt(r *kgo.Record) time.Time {
	if at, ok := headerTime(r, SentHeader); ok {
		return at
	}
	return r.Timestamp
}

// Failed is when a record in a tier failed for the first time; zero: it did not, or nobody wrote it down.
func Failed(r *kgo.Record) time.Time {
	at, _ := headerTime(r, FailedHeader)
	return at
}

// KeepFirst gives a record the time of its first acceptance, if it has none. zero: unknown.
func KeepFirst(r *kgo.Record, at time.Time) {
	if !at.IsZero() && LastHeader(r.Headers, FirstHeader) == nil {
		SetTime(r, FirstHeader, at)
	}
}

// ForgetFirst removes that time, of a record whose next acceptance counts as its first.
func ForgetFirst(r *kgo.Record) {
	r.Headers = slices.DeleteFunc(slices.Clone(r.Headers), func(h kgo.RecordHeader) bool {
		return h.Key == FirstHeader
	})
}

// SetTime gives a record a header with a time, in milliseconds.
func SetTime(r *kgo.Record, name string, at time.Time) {
	SetHeader(r, name, strconv.FormatInt(at.UnixMilli(), 10))
}

// Revived is the offset of the dead letter from which a record came back; negative: it was none.
func Revived(r *kgo.Record) int64 {
	n, err := strconv.ParseInt(Header(r, RevivedHeader), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// IsFor reports whether a record in a tier is for a group.
func IsFor(r *kgo.Record, group string) bool {
	of := Header(r, GroupHeader)
	return of == "" || of == group
}

// DiedIn reports whether a dead letter is one of a group.
func DiedIn(letter *kgo.Record, group string) bool { return Header(letter, DeadGroupHeader) == group }

// Starts is how often a record in a tier was started before.
func Starts(r *kgo.Record) int32 {
	n, err := strconv.ParseInt(Header(r, AttemptHeader), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// Log identifies the log of a partition, by the id of its topic: it differs when the topic was created again.
func Log(topic fmt.Stringer, n int32) string { return fmt.Sprintf("%s-%d", topic, n) }
