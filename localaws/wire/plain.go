package wire

import (
	"math/bits"
	"unicode/utf8"
)

// plainRun returns where, from i on, the first byte stands that does not stand
// for itself inside a JSON string: a quote, a backslash, a control character, or
// one beyond ASCII. It looks at eight bytes at a time; bodies are long.
func plainRun[T string | []byte](s T, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, backslash := x^('"'*ones), x^('\\'*ones)
		// Each term marks the top bit of bytes that are low, zero or high. A mark
		// may be false only above a true one, and the lowest is what counts.
		odd := (x - ' '*ones) &^ x
		odd |= (quote - ones) &^ quote
		odd |= (backslash - ones) &^ backslash
		if odd = (odd | x) & highs; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(s) && safe(s[i]) {
		i++
	}
	return i
}

// safe says whether a byte stands for itself inside a JSON string.
func safe(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf }
