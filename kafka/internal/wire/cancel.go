package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// cancelHeader marks a message that can be cancelled. Its value is the place where it waits.
const cancelHeader = OwnPrefix + "cancel"

// CancelID names a message that can be cancelled: k3.17.1803891600.4f1c09ab.0123….
type CancelID struct {
	Partition int32
	Offset    int64 // of the record that waits
	Due       int64 // about when it is due, in seconds since 1970; 0: it did not wait
	Place     string
	ID        LaterID
}

// placeBytes of the hash are in each id.
const placeBytes = 4

// Place stands for a topic of messages that wait. The id of a message of another one names no record of this one.
func Place(cluster, topic string) string {
	sum := sha256.Sum256([]byte(cluster + "/" + topic))
	return hex.EncodeToString(sum[:placeBytes])
}

// String is the id as text.
func (id *CancelID) String() string {
	return fmt.Sprintf("k%d.%d.%d.%s.%s", id.Partition, id.Offset, id.Due, id.Place, id.ID)
}

// ParseCancelID reads the text of an id; false: the text is not an id.
func ParseCancelID(text string) (id CancelID, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 5 || !strings.HasPrefix(text, "k") || len(parts[3]) != hex.EncodedLen(placeBytes) {
		return id, false
	}
	n, err := strconv.ParseInt(parts[0][1:], 10, 32)
	if err == nil {
		id.Offset, err = strconv.ParseInt(parts[1], 10, 64)
	}
	if err == nil {
		id.Due, err = strconv.ParseInt(parts[2], 10, 64)
	}
	id.Partition, id.Place = int32(n), parts[3]
	if id.ID, ok = ParseLaterID([]byte(parts[4])); !ok || err != nil {
		return id, false
	}
	return id, id.String() == text && n >= 0 && id.Offset >= 0
}

// MakeCancellable marks a message that can be cancelled while it waits.
func MakeCancellable(r *kgo.Record, place string) { SetHeader(r, cancelHeader, place) }

// Cancellable reports whether a message can be cancelled.
func Cancellable(r *kgo.Record) bool { return LastHeader(r.Headers, cancelHeader) != nil }

// CancelIDOf is the text of the id of a record that was sent; "": it cannot be cancelled.
func CancelIDOf(r *kgo.Record) string {
	if !Cancellable(r) {
		return ""
	}
	id := CancelID{Place: Header(r, cancelHeader)}
	one, ok := ParseLaterID(r.Key)
	if waits := LastHeader(r.Headers, delayHeader) != nil || LastHeader(r.Headers, DueHeader) != nil; ok && waits {
		id.Partition, id.Offset, id.ID, id.Due = r.Partition, r.Offset, one, WaitsUntil(r).Unix()
	}
	return id.String()
}

// The first parts of the keys of claims and cancels. Each has a key of its own, so that compaction keeps all of them:
// the first one decides.
const (
	claimKey  = "claim/"
	cancelKey = "cancel/"
)

// Claim is the key of a record by which a waker claims a message before it sends it on.
func Claim(id LaterID) []byte { return []byte(claimKey + id.String() + "/" + rand.Text()) }

// nowHeader marks a claim of an operator, which ends the wait of a message.
const nowHeader = OwnPrefix + "now"

// EndWait makes a claim end the wait of its message.
func EndWait(claim *kgo.Record) { SetHeader(claim, nowHeader, "1") }

// EndsWait reports whether a claim ends the wait of its message.
func EndsWait(claim *kgo.Record) bool { return LastHeader(claim.Headers, nowHeader) != nil }

// Cancel is the key of a record by which a program cancels a message.
func Cancel(id LaterID) []byte { return []byte(cancelKey + id.String() + "/" + rand.Text()) }

// Decision reads the key of a claim or a cancel; false: it is neither.
func Decision(key []byte) (id LaterID, cancels, ok bool) {
	text, claims := strings.CutPrefix(string(key), claimKey)
	if !claims {
		if text, cancels = strings.CutPrefix(string(key), cancelKey); !cancels {
			return id, false, false
		}
	}
	text, _, _ = strings.Cut(text, "/")
	id, ok = ParseLaterID([]byte(text))
	return id, cancels, ok
}
