package envelope

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// Encoding is how a body is sent.
type Encoding string

const (
	Plain  Encoding = ""       // unchanged
	Base64 Encoding = "base64" // standard alphabet, padded
	Empty  Encoding = "empty"  // an empty body; the service requires at least one character
)

// emptyBody is sent instead of an empty body. The reader recognizes an empty body by its encoding, not by this text.
const emptyBody = "-"

// Encode returns a body as a text that SQS accepts. The text is always a copy, because the caller owns the body again
// when it gives up waiting, and the text may be in flight then.
func Encode(body []byte) (string, Encoding) {
	if len(body) == 0 {
		return emptyBody, Empty
	}
	if text := string(body); Text(text) {
		return text, Plain
	}
	return Base64.Text(body), Base64
}

// Decode reverses Encode.
func Decode(text string, e Encoding) ([]byte, error) {
	switch e {
	case Plain:
		return []byte(text), nil
	case Empty:
		return nil, nil
	case Base64:
		body, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("the message says that its body is base64, and it cannot be decoded: %w", err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("the body's encoding %q is unknown: update the consumer", e)
}

// Text returns a decoded body in the form in which it was sent.
func (e Encoding) Text(body []byte) string {
	switch e {
	case Base64:
		return base64.StdEncoding.EncodeToString(body)
	case Empty:
		return emptyBody
	}
	return string(body)
}

// Text reports whether SQS accepts a string: tab, newline, carriage return, and Unicode from U+0020, without surrogates
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
