package jsontext

import (
	"strconv"
)

// shownSource is how much of a text SNS's parser shows with an error, in UTF-16 units.
const shownSource = 500

// Source is how SNS's parser shows the text it read.
func Source(src string) string {
	shown, rest := src, ""
	if n := Width(src); n > shownSource {
		shown = cut(src, shownSource)
		rest = "[truncated " + strconv.Itoa(n-shownSource) + " chars]"
	}
	return `(String)"` + shown + `"` + rest
}

// Width counts UTF-16 units, as Java counts columns.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

// cut returns the first n UTF-16 units of s, never half a character.
func cut(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[:i]
		}
		n -= units(r)
	}
	return s
}

func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
