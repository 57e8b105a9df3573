package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Bodies are long, so the following functions process eight bytes at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escaped marks the bytes of x that are escaped in a JSON string: quotes, backslashes and control characters. The
// lowest mark is correct; higher ones may not be.
func escaped(x uint64) uint64 {
	quote, backslash := x^('"'*ones), x^('\\'*ones)
	// Each term sets the top bit of bytes that are small or zero, and of no byte beyond ASCII.
	return ((x-' '*ones)&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// plainRun returns the index, at or after i, of the first byte that is not copied unchanged into a JSON string: one
// that is escaped, or one beyond ASCII.
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

// unescape decodes s, the inside of a JSON string, into to. It stops at the end, and at a byte beyond ASCII, an escape
// of more than one letter, or an error. It returns how many bytes it wrote and read. to must have room for all of s;
// bytes of to beyond n may be overwritten.
func unescape(to, s []byte) (n, read int) {
	out, in := to, s
	for len(in) >= 9 && len(out) >= 16 {
		x := binary.LittleEndian.Uint64(in)
		binary.LittleEndian.PutUint64(out, x)
		odd := escaped(x) | x&highs
		if odd == 0 {
			out, in = out[8:], in[8:]
			continue
		}
		run := uint(bits.TrailingZeros64(odd)) / 8
		c := letter(in[run+1])
		if in[run] != '\\' || c == 0 {
			return len(to) - len(out) + int(run), len(s) - len(in) + int(run)
		}
		out[run] = c
		if behind := 8 * (run + 2); run < 6 && odd>>behind == 0 { // the rest of the eight bytes is plain
			binary.LittleEndian.PutUint64(out[run+1:], x>>behind)
			out, in = out[7:], in[8:]
			continue
		}
		out, in = out[run+1:], in[run+2:]
	}
	for len(in) > 0 && safe(in[0]) {
		out[0] = in[0]
		out, in = out[1:], in[1:]
	}
	return len(to) - len(out), len(s) - len(in)
}

// escape encodes s as the inside of a JSON string into to, up to the first control character, or until to is full. It
// returns how many bytes it wrote and read; bytes of to beyond n may be overwritten.
func escape(to []byte, s string) (n, read int) {
	out, in := to, s
	for len(in) >= 8 && len(out) >= escapeRoom {
		x := word(in)
		binary.LittleEndian.PutUint64(out, x)
		odd := escaped(x)
		if odd == 0 {
			out, in = out[8:], in[8:]
			continue
		}
		run := uint(bits.TrailingZeros64(odd)) / 8
		if in[run] < ' ' {
			return len(to) - len(out) + int(run), len(s) - len(in) + int(run)
		}
		out[run] = '\\'
		binary.LittleEndian.PutUint64(out[run+1:], x>>(8*run))
		if odd>>(8*run+8) == 0 { // the rest of the eight bytes is plain
			out, in = out[9:], in[8:]
			continue
		}
		out, in = out[run+2:], in[run+1:]
	}
	for len(in) > 0 && len(out) > 0 && (safe(in[0]) || in[0] >= utf8.RuneSelf) {
		out[0] = in[0]
		out, in = out[1:], in[1:]
	}
	return len(to) - len(out), len(s) - len(in)
}

// escapeRoom is the room that eight bytes may need: the bytes, the backslash before the last of them, and what the
// following store overwrites.
const escapeRoom = 16

// word returns the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// safe reports whether a byte is copied unchanged into a JSON string.
func safe(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf }
