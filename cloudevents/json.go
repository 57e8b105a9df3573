package cloudevents

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const jsonContentType = "application/json"

// MarshalJSON encodes the event in CloudEvents' JSON format.
func (e Event) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i, a := range e.attributes() {
		if i > 0 {
			b = append(b, ',')
		}
		v, err := parseValue(a.value)
		if err != nil {
			return nil, wrong(a.name, "%v", err)
		}
		if b = appendName(b, a.name); v.bare {
			b = append(b, v.text...)
		} else {
			b = appendString(b, v.text)
		}
	}
	return append(e.appendData(b), '}'), nil
}

// appendData appends the data: JSON as it is, text as a string, and everything else in base64.
func (e *Event) appendData(b []byte) []byte {
	switch {
	case e.Data == nil:
		return b
	case jsonType(e.DataContentType), e.DataContentType == "" && json.Valid(e.Data):
		return append(appendName(append(b, ','), attrData), e.Data...)
	case textType(e.DataContentType) && utf8.Valid(e.Data):
		return appendString(appendName(append(b, ','), attrData), string(e.Data))
	}
	b = appendName(append(b, ','), attrDataBase64)
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), e.Data), '"')
}

// checkJSON refuses data that is declared as JSON and cannot be read as JSON.
func (e *Event) checkJSON() error {
	if e.Data != nil && !json.Valid(e.Data) {
		return wrong(attrData, "is no JSON, and datacontenttype is %s: set the content type that the data has",
			e.DataContentType)
	}
	return nil
}

func appendName(b []byte, name string) []byte { return append(appendString(b, name), ':') }

// appendString appends a text in quotes. Its error is impossible: a string can always be encoded.
func appendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		return strconv.AppendQuote(b, s)
	}
	return append(b, quoted...)
}

// UnmarshalJSON decodes an event from CloudEvents' JSON format.
func (e *Event) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return fmt.Errorf("the CloudEvent is no JSON object: %w", err)
	}
	if members == nil || members[attrSpecVersion] == nil {
		return wrong(attrSpecVersion, "is missing: every event must have it")
	}
	var out Event
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == attrData || name == attrDataBase64 || bytes.Equal(members[name], []byte("null")) {
			continue
		}
		v, err := parseMember(members[name])
		if err != nil {
			return wrong(name, "%v", err)
		}
		if err := out.set(name, v); err != nil {
			return err
		}
	}
	if err := out.setData(members[attrData], members[attrDataBase64]); err != nil {
		return err
	}
	if err := out.validate(); err != nil {
		return err
	}
	*e = out
	return nil
}

// parseMember returns the value of an attribute in JSON.
func parseMember(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case 't', 'f':
		return raw[0] == 't', nil
	case '{', '[':
		return nil, fmt.Errorf("is %s, and must be a string, a number or a boolean", cut(raw))
	}
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("is %s, and numbers of CloudEvents are integers of 32 bits", cut(raw))
	}
	return int32(n), nil
}

// setData sets the data. Data without a content type is JSON.
func (e *Event) setData(data, encoded json.RawMessage) error {
	if data != nil && encoded != nil {
		return wrong(attrData, "is there twice, as data and as data_base64: send one of them")
	}
	var text *string
	switch {
	case encoded != nil:
		if json.Unmarshal(encoded, &text) != nil {
			return wrong(attrDataBase64, "is %s, and must be a string", cut(encoded))
		}
		if text == nil {
			return nil
		}
		raw, err := base64.StdEncoding.DecodeString(*text)
		if err != nil {
			return wrong(attrDataBase64, "is not base64: %v", err)
		}
		e.Data = raw
	case data == nil:
	case e.DataContentType == "", jsonType(e.DataContentType):
		e.DataContentType = cmp.Or(e.DataContentType, jsonContentType)
		e.Data = bytes.Clone(data)
	default:
		if json.Unmarshal(data, &text) != nil {
			return wrong(attrData, "is %s, and must be a string, because datacontenttype is %s", cut(data),
				e.DataContentType)
		}
		if text != nil {
			e.Data = []byte(*text)
		}
	}
	return nil
}

// cut shortens a value for an error.
func cut(raw []byte) string {
	const most = 40
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "…"
}

// jsonType reports whether data of a content type is JSON.
func jsonType(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json"))
}

// textType reports whether data of a content type is text in UTF-8.
func textType(contentType string) bool {
	kind, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	return err == nil && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		(strings.HasPrefix(kind, "text/") || kind == "application/xml" || strings.HasSuffix(kind, "+xml"))
}
