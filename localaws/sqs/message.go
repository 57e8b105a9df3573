package sqs

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// outgoing is one message of a sender, in SendMessage and in the entries of a batch.
type outgoing struct {
	MessageBody             string                    `json:"MessageBody"`
	DelaySeconds            *int32                    `json:"DelaySeconds"`
	MessageAttributes       map[string]attributeValue `json:"MessageAttributes" query:"MessageAttribute,flat,key=Name,value=Value"`
	MessageSystemAttributes map[string]attributeValue `json:"MessageSystemAttributes" query:"MessageSystemAttribute,flat,key=Name,value=Value"`
	MessageDeduplicationID  *string                   `json:"MessageDeduplicationId"`
	MessageGroupID          *string                   `json:"MessageGroupId"`
}

// origin says where an outgoing message comes from.
type origin struct {
	sender string // SenderId
	trace  string // from the request's HTTP header; the system attribute takes precedence
	batch  bool   // in a batch, AWS's error for a message that is too long has another text
}

// message checks the parameters in AWS's order and returns the message for a queue.
func (o *outgoing) message(q *Queue, from origin) (queue.Put, *wire.Error) {
	none := func(err *wire.Error) (queue.Put, *wire.Error) { return queue.Put{}, err }
	if o.MessageBody == "" {
		return none(missing("MessageBody"))
	}
	if !validText(o.MessageBody) {
		return none(badContents())
	}
	set, d := q.settings.Load(), queue.Details{}
	if len(o.MessageAttributes) > 0 {
		if err := readAttributes(&d, o.MessageAttributes); err != nil {
			return none(err)
		}
	}
	if len(o.MessageBody)+d.Size() > set.maxSize {
		return none(tooLong(set.maxSize, from.batch))
	}
	if err := readSystem(&d, o.MessageSystemAttributes); err != nil {
		return none(err)
	}
	if d.Trace == "" && utf8.ValidString(from.trace) && validText(from.trace) {
		d.Trace = from.trace
	}
	m := &queue.Message{Body: o.MessageBody, MD5: md5Of(o.MessageBody), Sender: from.sender}
	put := queue.Put{Message: m, Delay: queue.Default}
	if err := readDelay(&put, o.DelaySeconds, q.fifo); err != nil {
		return none(err)
	}
	if err := readGroup(&d, o, q.fifo, set.contentDedup); err != nil {
		return none(err)
	}
	m.ID, m.Given = q.random.UUID(), d.Kept()
	return put, nil
}

func tooLong(limit int, batch bool) *wire.Error {
	what := "are invalid"
	if batch {
		what = "cannot be validated"
	}
	return invalidParameter("One or more parameters %s. Reason: Message must be shorter than %d bytes.", what, limit)
}

func badContents() *wire.Error {
	return &wire.Error{
		Code: "InvalidMessageContents",
		Message: "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 " +
			"to #xFFFD | #x10000 to #x10FFFF",
	}
}

// validText reports whether SQS accepts the characters of a text that is known to be UTF-8.
func validText(s string) bool {
	for s != "" {
		s = s[printable(s):]
		for range min(len(s), 8) {
			c := s[0]
			if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
				return false
			}
			// U+FFFE and U+FFFF are EF BF BE and EF BF BF.
			if c == 0xEF && len(s) > 2 && s[1] == 0xBF && s[2] >= 0xBE {
				return false
			}
			s = s[1:]
		}
	}
	return true
}

// printable returns the length of the longest prefix of s, in steps of eight bytes, that is ASCII without control
// characters. Most bodies consist of little else.
func printable(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	n := 0
	for ; len(s) >= 8; s = s[8:] {
		x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		below := x - ' '*ones // a byte below the space borrows
		if (x|below)&highs != 0 {
			break
		}
		n += 8
	}
	return n
}

func readDelay(p *queue.Put, delay *int32, fifo bool) *wire.Error {
	if delay == nil {
		return nil
	}
	if *delay < 0 || *delay > 900 {
		return invalidValue(*delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if fifo && *delay != 0 {
		return invalidValue(*delay, "DelaySeconds",
			"The request include parameter that is not valid for this queue type.")
	}
	if !fifo { // on a FIFO queue, zero means the queue's own delay
		p.Delay = seconds(*delay)
	}
	return nil
}

// readGroup checks MessageGroupId and MessageDeduplicationId. If one is present, it must not be empty.
func readGroup(d *queue.Details, o *outgoing, fifo, contentDedup bool) *wire.Error {
	if o.MessageGroupID != nil {
		d.Group = *o.MessageGroupID
	}
	if o.MessageDeduplicationID != nil {
		d.Dedup = *o.MessageDeduplicationID
	}
	if o.MessageGroupID != nil && !validID(d.Group) {
		return badID(d.Group, "MessageGroupId")
	}
	if !fifo {
		if d.Dedup != "" {
			return invalidValue(d.Dedup, "MessageDeduplicationId",
				"The request include parameter that is not valid for this queue type.")
		}
		return nil
	}
	if d.Group == "" {
		return missing("MessageGroupId")
	}
	if o.MessageDeduplicationID != nil && !validID(d.Dedup) {
		return badID(d.Dedup, "MessageDeduplicationId")
	}
	if d.Dedup == "" && !contentDedup {
		return invalidParameter("The queue should either have ContentBasedDeduplication enabled or " +
			"MessageDeduplicationId provided explicitly")
	}
	if d.Dedup == "" {
		sum := sha256.Sum256([]byte(o.MessageBody))
		d.Dedup = hex.EncodeToString(sum[:])
	}
	return nil
}

func badID(value, parameter string) *wire.Error {
	return invalidValue(value, parameter, parameter+
		" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// validID reports whether a text is valid as a group, deduplication or attempt id: 1 to 128 printable ASCII characters
// other than space.
func validID(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}

// readSystem reads the only system attribute that a sender may set.
func readSystem(d *queue.Details, given map[string]attributeValue) *wire.Error {
	if len(given) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		if name != "AWSTraceHeader" {
			return invalidParameter("Message system attribute name '%s' is invalid.", name)
		}
		if v.DataType != "String" || v.StringValue == nil || *v.StringValue == "" {
			return invalidParameter("Message system attribute '%s' must contain a non-empty value of type 'String'.",
				name)
		}
		d.Trace = *v.StringValue
	}
	return nil
}
