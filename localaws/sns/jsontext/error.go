package jsontext

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// redacted replaces the source in an error text; SNS does not show it.
const redacted = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: %d, column: %d]"

// Error is the reason why a text is not JSON.
type Error struct {
	Reason string
	Line   int // from 1
	Column int // from 1, in UTF-16 units as Java counts
}

// Error returns the reason and the position, in SNS's words.
func (e *Error) Error() string {
	return e.Reason + "\n at " + fmt.Sprintf(redacted, e.Line, e.Column)
}

// fail returns the error for the position after the byte at offset.
func (r *Reader) fail(offset int, reason string) error {
	line, column := Place(r.src, offset)
	return &Error{Reason: reason, Line: line, Column: column}
}

func (r *Reader) unexpected(why string) error {
	if r.pos >= len(r.src) {
		return r.endInContainer()
	}
	return r.unexpectedIn("Unexpected character ("+r.quoteChar()+")", why)
}

func (r *Reader) unexpectedIn(what, why string) error {
	return r.fail(r.pos, what+": "+why)
}

func (r *Reader) endInContainer() error {
	if len(r.stack) == 0 {
		return r.fail(r.pos, "No content to map due to end-of-input")
	}
	kind := "Object"
	if r.stack[len(r.stack)-1] == '[' {
		kind = "Array"
	}
	line, column := Place(r.src, r.marks[len(r.marks)-1])
	return r.fail(r.pos, "Unexpected end-of-input: expected close marker for "+kind+
		" (start marker at "+fmt.Sprintf(redacted, line, column)+")")
}

func (r *Reader) quoteChar() string {
	c, _ := utf8.DecodeRuneInString(r.src[r.pos:])
	if c < ' ' {
		return controlName(byte(c))
	}
	return "'" + string(c) + "' (code " + strconv.Itoa(int(c)) + ")"
}

func controlName(c byte) string {
	return fmt.Sprintf("(CTRL-CHAR, code %d)", c)
}

// Place returns the line and the column, both from 1, of the character at offset.
func Place(src string, offset int) (line, column int) {
	line, column = 1, 1
	for _, c := range src[:min(offset, len(src))] {
		switch {
		case c == '\n':
			line, column = line+1, 1
		case c > 0xFFFF:
			column += 2
		default:
			column++
		}
	}
	return line, column
}
