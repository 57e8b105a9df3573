package jsontext

import (
	"strconv"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind byte

// The kinds of tokens. End comes once, after the last token of the text.
const (
	End Kind = iota
	ObjectStart
	ObjectEnd
	ArrayStart
	ArrayEnd
	Name // the name of an object's member; its colon is consumed with it
	String
	Number
	True
	False
	Null
)

// Token is one token of a text.
type Token struct {
	Kind  Kind
	Text  string // decoded for names and strings, otherwise as written
	Start int    // byte offset of the token's first byte
	Stop  int    // byte offset after its last byte (names: after the closing quote)
}

// maxDepth bounds nesting, so that a malicious text cannot exhaust the memory. Jackson has the same bound.
const maxDepth = 1000

// Reader reads the tokens of one text. It is not for concurrent use. The zero Reader reads an empty text.
type Reader struct {
	src   string
	pos   int
	stack []byte // '{' or '[' for each open container
	marks []int  // where each open container began, for the error about a missing end
	state state
}

type state byte

const (
	wantValue      state = iota // the root, after a comma in an array, or after a colon
	wantFirstValue              // just after '['
	wantFirstName               // just after '{'
	wantComma                   // after a value inside a container
	wantEnd                     // after the root value
)

// NewReader returns a reader of src.
func NewReader(src string) *Reader {
	return &Reader{src: src}
}

// Reset makes the reader read src from its beginning and keeps what it has allocated.
func (r *Reader) Reset(src string) {
	*r = Reader{src: src, stack: r.stack[:0], marks: r.marks[:0]}
}

// Next returns the next token. After the last one it returns a token of kind End in every call. An error is an *Error,
// and final.
func (r *Reader) Next() (Token, error) {
	r.space()
	switch r.state {
	case wantEnd:
		if r.pos < len(r.src) {
			return Token{}, r.unexpected("expected end of content")
		}
		return Token{Kind: End, Start: r.pos, Stop: r.pos}, nil
	case wantFirstName:
		return r.name(true)
	case wantFirstValue:
		if r.peek() == ']' {
			return r.close(ArrayEnd), nil
		}
		return r.value()
	case wantComma:
		return r.afterValue()
	}
	return r.value()
}

func (r *Reader) afterValue() (Token, error) {
	object := r.stack[len(r.stack)-1] == '{'
	if r.pos >= len(r.src) {
		return Token{}, r.endInContainer()
	}
	c := r.src[r.pos]
	switch {
	case object && c == '}':
		return r.close(ObjectEnd), nil
	case !object && c == ']':
		return r.close(ArrayEnd), nil
	case c != ',' && object:
		return Token{}, r.unexpected("was expecting comma to separate Object entries")
	case c != ',':
		return Token{}, r.unexpected("was expecting comma to separate Array entries")
	}
	r.pos++
	r.space()
	if object {
		return r.name(false)
	}
	return r.value()
}

func (r *Reader) name(first bool) (Token, error) {
	if r.pos >= len(r.src) {
		return Token{}, r.endInContainer()
	}
	if first && r.src[r.pos] == '}' {
		return r.close(ObjectEnd), nil
	}
	if r.src[r.pos] != '"' {
		return Token{}, r.unexpected("was expecting double-quote to start field name")
	}
	start := r.pos
	text, err := r.quoted("was expecting closing quote for a field name")
	if err != nil {
		return Token{}, err
	}
	stop := r.pos
	r.space()
	if r.pos >= len(r.src) {
		return Token{}, r.endInContainer()
	}
	if r.src[r.pos] != ':' {
		return Token{}, r.unexpected("was expecting a colon to separate field name and value")
	}
	r.pos++
	r.state = wantValue
	return Token{Kind: Name, Text: text, Start: start, Stop: stop}, nil
}

func (r *Reader) value() (Token, error) {
	start := r.pos
	switch c := r.peek(); {
	case r.pos >= len(r.src):
		return Token{}, r.endInContainer()
	case c == '{':
		return r.open('{', ObjectStart, wantFirstName)
	case c == '[':
		return r.open('[', ArrayStart, wantFirstValue)
	case c == '"':
		text, err := r.quoted("was expecting closing quote for a string value")
		if err != nil {
			return Token{}, err
		}
		r.valueDone()
		return Token{Kind: String, Text: text, Start: start, Stop: r.pos}, nil
	case c == '-' || '0' <= c && c <= '9':
		if err := r.number(); err != nil {
			return Token{}, err
		}
		r.valueDone()
		return Token{Kind: Number, Text: r.src[start:r.pos], Start: start, Stop: r.pos}, nil
	}
	return r.word()
}

// word reads true, false or null, or returns an error for another word.
func (r *Reader) word() (Token, error) {
	start := r.pos
	for r.pos < len(r.src) {
		c, n := utf8.DecodeRuneInString(r.src[r.pos:])
		if !identifierPart(c) {
			break
		}
		r.pos += n
	}
	text := r.src[start:r.pos]
	var kind Kind
	switch text {
	case "true":
		kind = True
	case "false":
		kind = False
	case "null":
		kind = Null
	case "":
		return Token{}, r.unexpected("expected a valid value (JSON String, Number, Array, Object or token 'null', " +
			"'true' or 'false')")
	default:
		return Token{}, r.fail(r.pos,
			"Unrecognized token '"+text+
				"': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')")
	}
	r.valueDone()
	return Token{Kind: kind, Text: text, Start: start, Stop: r.pos}, nil
}

func (r *Reader) open(c byte, kind Kind, next state) (Token, error) {
	if len(r.stack) == maxDepth {
		return Token{}, r.fail(r.pos,
			"Document nesting depth ("+strconv.Itoa(maxDepth+1)+") exceeds the maximum allowed ("+
				strconv.Itoa(maxDepth)+")")
	}
	r.stack, r.marks = append(r.stack, c), append(r.marks, r.pos)
	r.pos++
	r.state = next
	return Token{Kind: kind, Text: r.src[r.pos-1 : r.pos], Start: r.pos - 1, Stop: r.pos}, nil
}

func (r *Reader) close(kind Kind) Token {
	r.stack, r.marks = r.stack[:len(r.stack)-1], r.marks[:len(r.marks)-1]
	r.pos++
	r.valueDone()
	return Token{Kind: kind, Text: r.src[r.pos-1 : r.pos], Start: r.pos - 1, Stop: r.pos}
}

func (r *Reader) valueDone() {
	r.state = wantComma
	if len(r.stack) == 0 {
		r.state = wantEnd
	}
}

func (r *Reader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end of the text.
func (r *Reader) peek() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}
