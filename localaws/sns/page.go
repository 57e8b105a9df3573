package sns

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// pageSize is how many topics or subscriptions SNS lists in one answer.
const pageSize = 100

const tokenMark = "after:"

// page returns the items after the token's, at most pageSize, and the token of the next page. Items are sorted by
// numbers that never change, so pages stay correct when items are added or removed in between.
func page[T any](all []T, number func(T) uint64, token *string) (items []T, next string, fault *wire.Error) {
	after, fault := readToken(token)
	if fault != nil {
		return nil, "", fault
	}
	for i, item := range all {
		if number(item) <= after {
			continue
		}
		rest := all[i:]
		if len(rest) <= pageSize {
			return rest, "", nil
		}
		return rest[:pageSize], writeToken(number(rest[pageSize-1])), nil
	}
	return nil, "", nil
}

func writeToken(number uint64) string {
	return base64.StdEncoding.EncodeToString([]byte(tokenMark + strconv.FormatUint(number, 10)))
}

func readToken(token *string) (uint64, *wire.Error) {
	if token == nil || *token == "" {
		return 0, nil
	}
	raw, err := base64.StdEncoding.DecodeString(*token)
	text, marked := strings.CutPrefix(string(raw), tokenMark)
	number, err2 := strconv.ParseUint(text, 10, 64)
	if err != nil || !marked || err2 != nil {
		return 0, invalid("NextToken")
	}
	return number, nil
}
