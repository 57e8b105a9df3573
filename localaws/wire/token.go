package wire

import (
	"encoding/base64"
	"strings"
)

// tokenMark begins a token, so that another text is not taken for one.
const tokenMark = "after:"

// PageToken returns the token of the page behind an item.
func PageToken(last string) string {
	return base64.URLEncoding.EncodeToString([]byte(tokenMark + last))
}

// ReadPageToken returns the item of a token; "": the first page. false: this server gave no such token.
func ReadPageToken(token string) (last string, ok bool) {
	if token == "" {
		return "", true
	}
	text, err := base64.URLEncoding.DecodeString(token)
	last, ok = strings.CutPrefix(string(text), tokenMark)
	return last, ok && err == nil
}
