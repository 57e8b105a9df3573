package rest

import (
	"encoding/base64"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Metadata that is not ASCII travels in encoded words (RFC 2047): they are decoded before metadata is stored, and a
// value is encoded when it is shown (recorded on AWS: TestRecordedS3Words, TestRecordedS3PresignedURLs).

// decodeWords returns the text of a header. Words that are badly encoded stay as they are.
func decodeWords(value string) string {
	if !isASCII(value) { // a header's own characters are those of ISO-8859-1
		runes := make([]rune, len(value))
		for i := range len(value) {
			runes[i] = rune(value[i])
		}
		return string(runes)
	}
	text, err := new(mime.WordDecoder).DecodeHeader(value)
	if err != nil || !utf8.ValidString(text) {
		return value
	}
	return text
}

// encodeWord returns a text as a header: as it is if every character is printable ASCII or a tab, and otherwise as one
// encoded word, in base64 if a character cannot be printed.
func encodeWord(text string) string {
	plain, printable := true, true
	for _, c := range text {
		plain = plain && (c == '\t' || c >= ' ' && c <= '~')
		printable = printable && c != utf8.RuneError && (c == '\t' || !unicode.Is(unicode.C, c))
	}
	switch {
	case plain:
		return text
	case !printable:
		return "=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("=?UTF-8?Q?")
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ':
			b.WriteByte('_')
		case c == '=', c == '?', c == '_', c > '~', c < ' ' && c != '\t':
			b.Write([]byte{'=', hex[c>>4], hex[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("?=")
	return b.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
