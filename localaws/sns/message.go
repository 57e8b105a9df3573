package sns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// request is the common part of a Publish and an entry of PublishBatch.
type request struct {
	message    *string
	subject    *string
	structure  string
	attributes map[string]AttributeValue
	group      *string
	dedup      *string
	path       string // the path of the attributes in the request, for errors
}

const (
	maxSubject = 100 // SNS: characters
	maxFIFOID  = 128 // SNS: characters of a group or deduplication id
)

// check checks a request and returns the message.
func (w *request) check() (*message, *wire.Error) {
	m := &message{}
	switch {
	case w.message == nil:
		return nil, invalid("Message Reason: no value for required parameter")
	case *w.message == "":
		return nil, invalid("Empty message")
	case w.structure != "" && w.structure != "json":
		return nil, invalid("MessageStructure")
	}
	m.text = *w.message
	if w.subject != nil {
		if !validSubject(*w.subject) {
			return nil, invalid("Subject")
		}
		m.subject = *w.subject
	}
	if fault := m.takeAttributes(w.attributes, w.path); fault != nil {
		return nil, fault
	}
	return m, nil
}

// size returns the size that counts against a topic's limit.
func (w *request) size() int {
	n := 0
	if w.message != nil {
		n = len(*w.message)
	}
	for name, a := range w.attributes {
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
	group, dedup := given(w.group), given(w.dedup)
	if !fifo {
		if w.dedup != nil {
			return invalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
				"that is not valid for this topic type")
		}
		if w.group != nil && !validFIFOID(group) {
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
		sum := sha256.Sum256([]byte(*w.message))
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
