package wire

import (
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers of a message that waits for its time, in addition to DueHeader.
const (
	delayHeader  = OwnPrefix + "delay"  // counts from the record's timestamp, in milliseconds
	keyHeader    = OwnPrefix + "key"    // the message's own key; missing: it has none
	nullHeader   = OwnPrefix + "null"   // the message is a tombstone, and a record that waits must not be one
	waitedHeader = OwnPrefix + "waited" // until when the message has waited, in milliseconds since 1970
)

// BeatKey is the key of a record that a waker writes to read up to it.
const BeatKey = "beat"

// LaterID is the id of a message that waits for its time. It is random.
type LaterID [16]byte

// String is the id as the key of its record.
func (id LaterID) String() string { return hex.EncodeToString(id[:]) }

// ParseLaterID reads an id from the key of a record; false: the key is not an id.
func ParseLaterID(key []byte) (id LaterID, ok bool) {
	if len(key) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], key)
	return id, err == nil
}

// Wait makes the record of a message one that waits: for a delay, which counts from the record's timestamp, or until a
// time.
func Wait(r *kgo.Record, id LaterID, delay time.Duration, at time.Time) {
	if r.Key != nil {
		SetHeader(r, keyHeader, string(r.Key))
	}
	if r.Value == nil {
		SetHeader(r, nullHeader, "1")
		r.Value = []byte{}
	}
	r.Key = []byte(id.String())
	if delay > 0 {
		SetHeader(r, delayHeader, strconv.FormatInt((delay+time.Millisecond-1).Milliseconds(), 10))
	} else {
		SetTime(r, DueHeader, at.Add(time.Millisecond-1))
	}
}

// WaitsUntil is when a record that waits is due. One without a time is due at once.
func WaitsUntil(r *kgo.Record) time.Time {
	if at, ok := headerTime(r, DueHeader); ok {
		return at
	}
	ms, err := strconv.ParseInt(Header(r, delayHeader), 10, 64)
	if err != nil || ms < 0 || ms > maxTime {
		return r.Timestamp
	}
	return time.UnixMilli(r.Timestamp.UnixMilli() + ms)
}

// Woken is the record of a message whose wait is over, as it goes to a topic. It keeps the time of its acceptance, from
// which its expiry counts.
func Woken(r *kgo.Record, topic string) *kgo.Record {
	woken := &kgo.Record{Topic: topic, Key: LastHeader(r.Headers, keyHeader), Value: r.Value}
	if LastHeader(r.Headers, nullHeader) != nil {
		woken.Value = nil
	}
	woken.Headers = slices.DeleteFunc(slices.Clone(r.Headers), func(h kgo.RecordHeader) bool {
		return h.Key == keyHeader || h.Key == nullHeader || h.Key == delayHeader || h.Key == DueHeader ||
			h.Key == cancelHeader
	})
	SetTime(woken, waitedHeader, WaitsUntil(r))
	KeepFirst(woken, r.Timestamp)
	return woken
}
