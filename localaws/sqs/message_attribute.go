package sqs

import (
	"crypto/md5"
	"encoding/binary"
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

// shownAttributes returns attributes as they are on the wire.
func shownAttributes(attributes map[string]queue.Attribute) map[string]attributeValue {
	shown := make(map[string]attributeValue, len(attributes))
	for name, a := range attributes {
		v := attributeValue{DataType: a.Type, BinaryValue: a.Binary}
		if a.Binary == nil {
			v.StringValue = &a.Text
		}
		shown[name] = v
	}
	return shown
}

// maxAttributes is the most attributes of a message.
const maxAttributes = 10

func readAttributes(d *queue.Details, given map[string]attributeValue) *wire.Error {
	if len(given) > maxAttributes {
		return invalidParameter("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(given),
			maxAttributes)
	}
	d.Attributes = make(map[string]queue.Attribute, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := checkAttributeName(name); err != nil {
			return err
		}
		a, err := readAttribute(name, given[name])
		if err != nil {
			return err
		}
		d.Attributes[name] = a
	}
	d.AttributesMD5 = attributesMD5(d.Attributes)
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

// attributeNameForm also accepts letters beyond ASCII, as AWS does.
var attributeNameForm = regexp.MustCompile(`^[\p{L}\p{N}_.-]+$`)

func readAttribute(name string, v attributeValue) (queue.Attribute, *wire.Error) {
	var none queue.Attribute
	if v.StringListValues != nil || v.BinaryListValues != nil {
		return none, invalidParameter("Message attribute list values in SendMessage operation are not supported.")
	}
	if v.DataType == "" && v.StringValue == nil && v.BinaryValue == nil {
		return none, invalidParameter("The message (user) attribute '%s' must contain a non-empty message "+
			"attribute value.", name)
	}
	if v.DataType == "" {
		return none, invalidParameter("The message (user) attribute '%s' must contain a non-empty message "+
			"attribute type.", name)
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

// md5Of hashes the text in pieces, because converting it as a whole would copy every body.
func md5Of(s string) (sum [md5.Size]byte) {
	var piece [1024]byte
	h := md5.New()
	for len(s) > 0 {
		n := copy(piece[:], s)
		h.Write(piece[:n])
		s = s[n:]
	}
	h.Sum(sum[:0])
	return sum
}

// attributesMD5 returns the digest that clients verify: over name, type and value of each attribute in order of the
// names, each after its length.
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

// systemMD5 returns the same digest of the system attributes of a request. Only the trace header is accepted as one; a
// trace in the request's HTTP header has no digest.
func systemMD5(given map[string]attributeValue) string {
	v, ok := given["AWSTraceHeader"]
	if !ok {
		return ""
	}
	return attributesMD5(map[string]queue.Attribute{"AWSTraceHeader": {Type: "String", Text: *v.StringValue}})
}
