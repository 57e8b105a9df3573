package envelope

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// Encoding is how a body travels.
type Encoding string

const (
	Plain  Encoding = ""       // as it is
	Base64 Encoding = "base64" // standard alphabet, padded
	Empty  Encoding = "empty"  // nothing, where the service wants at least a character
)

// emptyBody stands for an empty body; its reader looks at the encoding, never at it.
const emptyBody = "-"

// Encode brings a body into a form that SQS's character set takes. The text is a copy of the body, the only one: the body
// belongs to its sender again when the sender gives up, and the text may travel then.
func Encode(body []byte) (string, Encoding) {
	if len(body) == 0 {
		return emptyBody, Empty
	}
	if text := string(body); Text(text) {
		return text, Plain
	}
	return Base64.Text(body), Base64
}

// Decode takes an encoding back.
func Decode(text string, e Encoding) ([]byte, error) {
	switch e {
	case Plain:
		return []byte(text), nil
	case Empty:
		return nil, nil
	case Base64:
		body, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("the body is marked as base64 and is not: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("the body's encoding %q is not known: update the consumer", e)
}

// Text is a decoded body as it travelled.
func (e Encoding) Text(body []byte) string {
	switch e {
	case Base64:
		return base64.StdEncoding.EncodeToString(body)
	case Empty:
		return emptyBody
	}
	return string(body)
}

// Text says whether SQS takes a string: tab, newline, carriage return, and Unicode from space on without surrogates
// and the two non-characters U+FFFE and U+FFFF.
func Text(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r':
		case r < ' ', r == 0xFFFE, r == 0xFFFF:
			return false
		}
	}
	return true
}
