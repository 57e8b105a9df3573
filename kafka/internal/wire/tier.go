package wire

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ForTier is the copy of a record in a tier. Its headers have the due time, the number of starts, the position of the
// original, when it was sent, and the time of its first failure; zero: unknown.
func ForTier(original *kgo.Record, due time.Time, starts int32, failed time.Time) *kgo.Record {
	r := &kgo.Record{Key: original.Key, Value: original.Value, Headers: original.Headers}
	where := HomeOrHere(original)
	r.Partition = where.N
	SetHeader(r, DueHeader, strconv.FormatInt(due.Add(time.Millisecond-1).UnixMilli(), 10))
	SetHeader(r, AttemptHeader, strconv.Itoa(int(starts)))
	SetHeader(r, HomeHeader, where.String())
	SetTime(r, SentHeader, SentAt(original))
	if !failed.IsZero() {
		SetTime(r, FailedHeader, failed)
	}
	return r
}
