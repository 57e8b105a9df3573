package chart

import (
	"math"
	"strings"
	"unicode"
)

// longest bounds a text, in characters. The rest is cut.
const longest = 200

// Estimates of the width of a character. Only the browser knows the font.
const (
	letter     = 6.5
	wideLetter = 11
)

// Plain is a text from anybody in one line of at most so many characters: without control characters, without marks
// that change the direction of the text around them, and without what XML has not. The page escapes it.
func Plain(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			b.WriteRune('…')
			break
		}
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xFFFE, r == 0xFFFF:
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// extent estimates the width of a text.
func extent(s string) (w float64) {
	for _, r := range s {
		w += advance(r)
	}
	return w
}

func advance(r rune) float64 {
	if r >= 0x1100 && (r < 0x2000 || r > 0x206F) {
		return wideLetter
	}
	return letter
}

// fit cuts the middle out of a text that is wider than w: names of channels and errors differ at both ends.
func fit(s string, w float64) string {
	s = Plain(s, longest)
	if extent(s) <= w {
		return s
	}
	runes := []rune(s)
	w -= letter // of the ellipsis
	head, tail, used := 0, len(runes), 0.0
	for head < tail {
		at := head
		if head > 2*(len(runes)-tail) {
			at = tail - 1
		}
		if used += advance(runes[at]); used > w {
			break
		}
		if at == head {
			head++
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// most is the largest value that a chart takes for one. The sums of such values are finite.
const most = 1e18

// known reports whether a value is one.
func known(v float64) bool { return v >= 0 && v <= most && !math.IsNaN(v) }
