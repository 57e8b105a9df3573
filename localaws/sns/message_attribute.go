package sns

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

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
