package sqs

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// attributeValue is a message attribute on the wire.
type attributeValue struct {
	StringValue      *string  `json:"StringValue"`
	BinaryValue      []byte   `json:"BinaryValue"`
	StringListValues []string `json:"StringListValues" query:"StringListValue,flat"`
	BinaryListValues [][]byte `json:"BinaryListValues" query:"BinaryListValue,flat"`
	DataType         string   `json:"DataType"`
}

// outgoing is what a sender gives of one message, whichever way it came.
type outgoing struct {
	body       string
	delay      *int32
	attributes map[string]attributeValue
	system     map[string]attributeValue
	trace      string // of the request's header; the system attribute goes before it
	group      string
	dedup      string
}

// maxAttributes is the most attributes a message may have.
const maxAttributes = 10

// message checks what was given and makes a message of it. The order of the
// checks is AWS's.
func (s *Service) message(q *Queue, set *settings, o *outgoing, sender string) (queue.Put, int, *wire.Error) {
	none := func(err *wire.Error) (queue.Put, int, *wire.Error) { return queue.Put{}, 0, err }
	if o.body == "" {
		return none(missing("MessageBody"))
	}
	if !validText(o.body) {
		return none(badContents())
	}
	m := &queue.Message{Body: o.body, Group: o.group, Dedup: o.dedup, Sender: sender}
	if len(o.attributes) > 0 {
		if err := readAttributes(m, o.attributes); err != nil {
			return none(err)
		}
	}
	size := messageSize(m)
	if size > set.maxSize {
		return none(invalidParameter("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", set.maxSize))
	}
	if err := readSystem(m, o.system); err != nil {
		return none(err)
	}
	if m.Trace == "" && utf8.ValidString(o.trace) && validText(o.trace) {
		m.Trace = o.trace
	}
	put := queue.Put{Message: m, Delay: queue.Default}
	if err := readDelay(&put, o.delay, q.fifo); err != nil {
		return none(err)
	}
	if err := readGroup(m, q.fifo, set.contentDedup); err != nil {
		return none(err)
	}
	m.ID, m.BodyMD5 = s.opts.Random.UUID(), md5Hex(o.body)
	return put, size, nil
}

func badContents() *wire.Error {
	return &wire.Error{Code: "InvalidMessageContents",
		Message: "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"}
}

// validText says whether a text, known to be UTF-8, is of the characters that
// SQS takes.
func validText(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
		// U+FFFE and U+FFFF are EF BF BE and EF BF BF.
		if c == 0xEF && i+2 < len(s) && s[i+1] == 0xBF && s[i+2] >= 0xBE {
			return false
		}
	}
	return true
}

func readDelay(p *queue.Put, delay *int32, fifo bool) *wire.Error {
	if delay == nil {
		return nil
	}
	if *delay < 0 || *delay > 900 {
		return invalidValue(*delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if fifo && *delay != 0 {
		return invalidValue(*delay, "DelaySeconds", "The request include parameter that is not valid for this queue type.")
	}
	if !fifo { // on FIFO, zero means the queue's own
		p.Delay = seconds(*delay)
	}
	return nil
}

// readGroup holds the rules of MessageGroupId and MessageDeduplicationId.
func readGroup(m *queue.Message, fifo, contentDedup bool) *wire.Error {
	if m.Group != "" && !validID(m.Group) {
		return badID(m.Group, "MessageGroupId")
	}
	if !fifo {
		if m.Dedup != "" {
			return invalidValue(m.Dedup, "MessageDeduplicationId",
				"The request include parameter that is not valid for this queue type.")
		}
		return nil
	}
	if m.Group == "" {
		return missing("MessageGroupId")
	}
	if m.Dedup != "" && !validID(m.Dedup) {
		return badID(m.Dedup, "MessageDeduplicationId")
	}
	if m.Dedup == "" && !contentDedup {
		return invalidParameter("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	}
	if m.Dedup == "" {
		sum := sha256.Sum256([]byte(m.Body))
		m.Dedup = hex.EncodeToString(sum[:])
	}
	return nil
}

func badID(value, parameter string) *wire.Error {
	return invalidValue(value, parameter, parameter+
		" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// validID says whether a text may name a group, a duplicate or an attempt: 1 to
// 128 printable ASCII characters without space.
func validID(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}

func readAttributes(m *queue.Message, given map[string]attributeValue) *wire.Error {
	if len(given) > maxAttributes {
		return invalidParameter("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(given), maxAttributes)
	}
	m.Attributes = make(map[string]queue.Attribute, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := checkAttributeName(name); err != nil {
			return err
		}
		a, err := readAttribute(name, given[name])
		if err != nil {
			return err
		}
		m.Attributes[name] = a
	}
	m.AttributesMD5 = attributesMD5(m.Attributes)
	return nil
}

func checkAttributeName(name string) *wire.Error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return invalidParameter("The request must contain non-empty message (user) attribute names.")
	case len(name) > 256:
		return invalidParameter("Message (user) attribute name must be shorter than 256 bytes.")
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return invalidParameter("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. " +
			"These strings are reserved for internal use. Additionally, they cannot start or end with '.'.")
	case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, ".."):
		return invalidParameter("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. " +
			"These strings are reserved for internal use. Additionally, they cannot start or end with '.'.")
	case !attributeNameForm.MatchString(name):
		return invalidParameter("Message (user) attributes name can only contain upper and lower score characters, " +
			"digits, periods, hyphens and underscores. ")
	}
	return nil
}

// attributeNameForm takes letters beyond ASCII too: so does AWS.
var attributeNameForm = regexp.MustCompile(`^[\p{L}\p{N}_.-]+$`)

func readAttribute(name string, v attributeValue) (queue.Attribute, *wire.Error) {
	var none queue.Attribute
	if v.StringListValues != nil || v.BinaryListValues != nil {
		return none, invalidParameter("Message attribute list values in SendMessage operation are not supported.")
	}
	if v.DataType == "" && v.StringValue == nil && v.BinaryValue == nil {
		return none, invalidParameter("The message (user) attribute '%s' must contain a non-empty message attribute value.", name)
	}
	if v.DataType == "" {
		return none, invalidParameter("The message (user) attribute '%s' must contain a non-empty message attribute type.", name)
	}
	if len(v.DataType) > 256 {
		return none, invalidParameter("Message (user) attribute type must be shorter than 256 bytes.")
	}
	base, _, _ := strings.Cut(v.DataType, ".")
	a := queue.Attribute{Type: v.DataType, Binary: v.BinaryValue}
	if v.StringValue != nil {
		a.Text = *v.StringValue
	}
	switch base {
	case "String", "Number":
		return a, checkText(name, base, a, v)
	case "Binary":
		if len(v.BinaryValue) == 0 || v.StringValue != nil {
			return none, emptyAttribute(name, base)
		}
		return a, nil
	default:
		return none, invalidParameter("The type of message (user) attribute '%s' is invalid. "+
			"You must use only the following supported type prefixes: Binary, Number, String.", name)
	}
}

func emptyAttribute(name, base string) *wire.Error {
	return invalidParameter("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, base)
}

func checkText(name, base string, a queue.Attribute, v attributeValue) *wire.Error {
	if a.Text == "" || v.BinaryValue != nil {
		return emptyAttribute(name, "String")
	}
	if !utf8.ValidString(a.Text) || !validText(a.Text) {
		return invalidParameter("%s", badContents().Message)
	}
	if base == "Number" && !numberForm.MatchString(a.Text) {
		return invalidParameter("Can't cast the value of message (user) attribute '%s' to a number.", name)
	}
	return nil
}

var numberForm = regexp.MustCompile(`^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$`)

// readSystem reads the one system attribute that a sender may give.
func readSystem(m *queue.Message, given map[string]attributeValue) *wire.Error {
	for name, v := range given {
		if name != "AWSTraceHeader" {
			return invalidParameter("Message system attribute name '%s' is invalid.", name)
		}
		if v.DataType != "String" || v.StringValue == nil || *v.StringValue == "" {
			return invalidParameter("Message system attribute '%s' must contain a non-empty value of type 'String'.", name)
		}
		m.Trace = *v.StringValue
	}
	return nil
}

// messageSize is what counts towards the limits: body, and attributes with
// their names and types. The trace header does not.
func messageSize(m *queue.Message) int {
	size := len(m.Body)
	for name, a := range m.Attributes {
		size += len(name) + len(a.Type) + len(a.Text) + len(a.Binary)
	}
	return size
}

// md5Hex goes through the text by pieces: a copy of every body is not worth its
// digest.
func md5Hex(s string) string {
	var piece [1024]byte
	h := md5.New()
	for len(s) > 0 {
		n := copy(piece[:], s)
		h.Write(piece[:n])
		s = s[n:]
	}
	return hex.EncodeToString(h.Sum(piece[:0]))
}

// attributesMD5 is the digest that clients compare: over name, type and value
// of each attribute in order of name, each behind its length.
func attributesMD5(attributes map[string]queue.Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	part := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part(name)
		part(a.Type)
		if strings.HasPrefix(a.Type, "Binary") {
			b = append(b, 2)
			part(string(a.Binary))
		} else {
			b = append(b, 1)
			part(a.Text)
		}
	}
	return fmt.Sprintf("%x", md5.Sum(b))
}

// systemMD5 is the same over the system attributes that were given: the one that
// readSystem lets pass, and nothing where the trace came in the request's header.
func systemMD5(given map[string]attributeValue) string {
	v, ok := given["AWSTraceHeader"]
	if !ok {
		return ""
	}
	return attributesMD5(map[string]queue.Attribute{"AWSTraceHeader": {Type: "String", Text: *v.StringValue}})
}
