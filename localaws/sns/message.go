package sns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/sns/jsontext"
	"github.com/godwitmq/godwit/localaws/wire"
)

// message is a checked message, ready for delivery.
type message struct {
	id         string
	text       string            // for a protocol without a text of its own
	texts      map[string]string // MessageStructure json: by protocol
	subject    string
	attributes map[string]Attribute
	names      []string           // of the attributes, sorted
	seen       []filter.Attribute // the attributes for filter policies
	group      string
	dedup      string
	trace      string // the publisher's tracing header, passed on to queues
	sequence   string // FIFO topics
	timestamp  string
	size       int // of the request, with attributes
}

// request is the message of a Publish, and of an entry of PublishBatch.
type request struct {
	Message                *string                   `json:"Message"`
	Subject                *string                   `json:"Subject"`
	MessageStructure       string                    `json:"MessageStructure"`
	MessageAttributes      map[string]AttributeValue `json:"MessageAttributes" query:"MessageAttributes,key=Name,value=Value"`
	MessageDeduplicationID *string                   `json:"MessageDeduplicationId"`
	MessageGroupID         *string                   `json:"MessageGroupId"`

	path string `json:"-"` // of the attributes in the request, for errors
}

const (
	maxSubject = 100 // SNS: characters
	maxFIFOID  = 128 // SNS: characters of a group or deduplication id
)

// check checks a request and returns the message.
func (w *request) check() (*message, *wire.Error) {
	m := &message{}
	switch {
	case w.Message == nil:
		return nil, invalid("Message Reason: no value for required parameter")
	case *w.Message == "":
		return nil, invalid("Empty message")
	case w.MessageStructure != "" && w.MessageStructure != "json":
		return nil, invalid("MessageStructure")
	}
	m.text = *w.Message
	if w.Subject != nil {
		if !validSubject(*w.Subject) {
			return nil, invalid("Subject")
		}
		m.subject = *w.Subject
	}
	if fault := m.takeAttributes(w.MessageAttributes, w.path); fault != nil {
		return nil, fault
	}
	return m, nil
}

// size returns the size that counts against a topic's limit.
func (w *request) size() int {
	n := 0
	if w.Message != nil {
		n = len(*w.Message)
	}
	for name, a := range w.MessageAttributes {
		n += len(name) + len(a.BinaryValue)
		for _, text := range []*string{a.DataType, a.StringValue} {
			if text != nil {
				n += len(*text)
			}
		}
	}
	return n
}

// split parses the texts of MessageStructure json.
func (m *message) split() *wire.Error {
	r := jsontext.NewReader(m.text)
	if t, err := r.Next(); err != nil || t.Kind != jsontext.ObjectStart {
		return invalid("Message Structure - JSON message body failed to parse")
	}
	if _, err := jsontext.Compact(m.text); err != nil {
		return invalid("Message Structure - JSON message body failed to parse")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m.text), &given); err != nil {
		return invalid("Message Structure - JSON message body failed to parse")
	}
	m.texts = map[string]string{}
	for protocol, raw := range given {
		var text string
		if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			m.texts[protocol] = text // a value that is not a string counts as missing
		}
	}
	text, ok := m.texts["default"]
	if !ok {
		return invalid("Message Structure - No default entry in JSON message body")
	}
	m.text = text
	return nil
}

// textFor returns the text for a protocol.
func (m *message) textFor(protocol string) string {
	if text, ok := m.texts[protocol]; ok {
		return text
	}
	return m.text
}

// checkOrder checks group and deduplication id, and computes the latter if the topic is set to. It needs the text as
// the client sent it.
func (m *message) checkOrder(w *request, fifo, dedupByText bool) *wire.Error {
	group, dedup := given(w.MessageGroupID), given(w.MessageDeduplicationID)
	if !fifo {
		if w.MessageDeduplicationID != nil {
			return invalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
				"that is not valid for this topic type")
		}
		if w.MessageGroupID != nil && !validFIFOID(group) {
			return invalid("MessageGroupId Reason: The request includes MessageGroupId parameter that is not valid")
		}
		m.group = group
		return nil
	}
	switch {
	case group == "":
		return invalid("The MessageGroupId parameter is required for FIFO topics")
	case dedup == "" && !dedupByText:
		return invalid("The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId " +
			"provided explicitly")
	case !validFIFOID(group):
		return invalid("MessageGroupId Reason: The request includes MessageGroupId parameter that is not valid")
	case dedup != "" && !validFIFOID(dedup):
		return invalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is " +
			"not valid")
	case dedup == "":
		sum := sha256.Sum256([]byte(*w.Message))
		dedup = hex.EncodeToString(sum[:])
	}
	m.group, m.dedup = group, dedup
	return nil
}

func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func validFIFOID(id string) bool {
	if id == "" || len(id) > maxFIFOID {
		return false
	}
	return strings.IndexFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}

func validSubject(subject string) bool {
	n := len([]rune(subject))
	return n > 0 && n <= maxSubject && strings.IndexFunc(subject, unicode.IsControl) < 0
}

// AttributeValue is a message attribute as clients send it.
type AttributeValue struct {
	DataType    *string `json:"DataType"`
	StringValue *string `json:"StringValue"`
	BinaryValue []byte  `json:"BinaryValue"`
}

const maxAttributeName = 256 // SNS: bytes

// takeAttributes checks the attributes and stores them in the message. path is their path in the request.
func (m *message) takeAttributes(given map[string]AttributeValue, path string) *wire.Error {
	m.names = slices.Sorted(maps.Keys(given))
	m.attributes = make(map[string]Attribute, len(given))
	for _, name := range m.names {
		a, fault := checkAttribute(name, given[name], path)
		if fault != nil {
			return fault
		}
		m.attributes[name] = a
		m.seen = append(m.seen, filter.Attribute{Name: name, Type: a.Type, Value: a.Text})
	}
	return nil
}

func checkAttribute(name string, v AttributeValue, path string) (Attribute, *wire.Error) {
	if v.DataType == nil {
		return Attribute{}, &wire.Error{Code: "ValidationError", Message: fmt.Sprintf(
			"1 validation error detected: Value null at '%smessageAttributes.%s.member.dataType' failed to satisfy "+
				"constraint: Member must not be null", path, name)}
	}
	if fault := checkAttributeName(name); fault != nil {
		return Attribute{}, fault
	}
	kind, label, custom := strings.Cut(*v.DataType, ".")
	switch {
	case custom && label == "":
	case kind == "String" || kind == "Number":
		return textAttribute(name, v)
	case kind == "Binary":
		return binaryAttribute(name, v)
	}
	return Attribute{}, valueInvalid("The message attribute '%s' has an invalid message attribute type, the set of "+
		"supported type prefixes is Binary, Number, and String.", name)
}

func textAttribute(name string, v AttributeValue) (Attribute, *wire.Error) {
	switch {
	case v.StringValue == nil && v.BinaryValue != nil:
		return Attribute{}, valueInvalid("The message attribute '%s' with type '%s' must use field 'String'.", name,
			*v.DataType)
	case v.StringValue == nil || *v.StringValue == "":
		return Attribute{}, emptyAttribute(name, *v.DataType)
	}
	if kind, _, _ := strings.Cut(*v.DataType, "."); kind == "Number" {
		if _, err := strconv.ParseFloat(*v.StringValue, 64); err != nil {
			return Attribute{}, valueInvalid("Could not cast message attribute '%s' value to number.", name)
		}
	}
	return Attribute{Type: *v.DataType, Text: *v.StringValue}, nil
}

func binaryAttribute(name string, v AttributeValue) (Attribute, *wire.Error) {
	switch {
	case len(v.BinaryValue) == 0 && v.StringValue != nil:
		return Attribute{}, valueInvalid("The message attribute '%s' with type '%s' must use field 'Binary'.", name,
			*v.DataType)
	case len(v.BinaryValue) == 0:
		return Attribute{}, emptyAttribute(name, *v.DataType)
	}
	return Attribute{Type: *v.DataType, Binary: v.BinaryValue}, nil
}

func emptyAttribute(name, dataType string) *wire.Error {
	return valueInvalid("The message attribute '%s' must contain non-empty message attribute value for message "+
		"attribute type '%s'.", name, dataType)
}

func checkAttributeName(name string) *wire.Error {
	if len(name) > maxAttributeName {
		return valueInvalid("Length of message attribute name must be less than %d bytes.", maxAttributeName)
	}
	for _, c := range name {
		if !strings.ContainsRune("-_.", c) && !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return valueInvalid("Invalid non-alphanumeric character '#x%X' was found in the message attribute name. "+
				"Can only include alphanumeric characters, hyphens, underscores, or dots.", c)
		}
	}
	switch {
	case strings.HasPrefix(name, "."):
		return valueInvalid("Invalid message attribute name starting with character '.' was found.")
	case strings.HasSuffix(name, "."):
		return valueInvalid("Invalid message attribute name ending with character '.' was found.")
	case strings.Contains(name, ".."):
		return valueInvalid("Message attribute name can not have successive '.' character.")
	}
	return nil
}
