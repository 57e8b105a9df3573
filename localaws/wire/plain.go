package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Bodies are long, so all that follows looks at eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escaped marks the bytes of x that are escaped inside a JSON string: a quote, a
// backslash, a control character. The lowest mark is true; those above it may
// not be.
func escaped(x uint64) uint64 {
	quote, backslash := x^('"'*ones), x^('\\'*ones)
	// Each term sets the top bit of bytes that are low or zero, and of none that
	// is beyond ASCII.
	return ((x-' '*ones)&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// plainRun returns where, from i on, the first byte stands that does not stand
// for itself inside a JSON string as it comes: one that is escaped, or one beyond
// ASCII.
func plainRun(s []byte, i int) int {
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		if odd := escaped(x) | x&highs; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(s) && safe(s[i]) {
		i++
	}
	return i
}

// unescape copies what s, the inside of a JSON string, stands for, up to the
// first byte that is more than plain text and escapes of one letter: the end, one
// beyond ASCII, a rarer escape, a mistake. It returns how much it wrote and how
// much it read. There must be room for all of s; what to has beyond n may be
// overwritten.
func unescape(to, s []byte) (n, i int) {
	for i+9 <= len(s) && n+8 <= len(to) {
		x := binary.LittleEndian.Uint64(s[i:])
		binary.LittleEndian.PutUint64(to[n:], x)
		odd := escaped(x) | x&highs
		if odd == 0 {
			n, i = n+8, i+8
			continue
		}
		run := bits.TrailingZeros64(odd) / 8
		n, i = n+run, i+run
		if s[i] != '\\' {
			return n, i
		}
		c := letter(s[i+1])
		if c == 0 {
			return n, i
		}
		to[n] = c
		n, i = n+1, i+2
	}
	for i < len(s) && safe(s[i]) {
		to[n] = s[i]
		n, i = n+1, i+1
	}
	return n, i
}

// escape writes s the way it stands inside a JSON string, up to the first control
// character, and as far as there is room. It returns how much it wrote and how
// much it read; what to has beyond n may be overwritten.
func escape(to []byte, s string) (n, i int) {
	for i+8 <= len(s) && n+9 <= len(to) {
		x := word(s[i:])
		binary.LittleEndian.PutUint64(to[n:], x)
		odd := escaped(x)
		if odd == 0 {
			n, i = n+8, i+8
			continue
		}
		run := bits.TrailingZeros64(odd) / 8
		n, i = n+run, i+run
		if s[i] < ' ' {
			return n, i
		}
		to[n], to[n+1] = '\\', s[i]
		n, i = n+2, i+1
	}
	for i < len(s) && n < len(to) && (safe(s[i]) || s[i] >= utf8.RuneSelf) {
		to[n] = s[i]
		n, i = n+1, i+1
	}
	return n, i
}

// word is the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// safe says whether a byte stands for itself inside a JSON string.
func safe(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf }
