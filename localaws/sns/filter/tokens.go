package filter

import (
	"strconv"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// shownSource is how much of a policy SNS shows in a reason; of the rest it shows the length.
const shownSource = 500

// token is one token, with the columns that SNS reports in errors about it. SNS's parser reads strings lazily and looks
// one value ahead at names, so there are two columns.
type token struct {
	kind jsontext.Kind
	text string
	seen int // the column after the parser has found the token
	read int // the column after it has read the token's text
}

// tokens are the tokens of a policy.
type tokens struct {
	source string // compact: SNS rewrites the policy before it compiles it, and counts columns in the result
	rest   []token
	now    token
}

// tokenize splits the compact source into tokens.
func (t *tokens) tokenize() error {
	r := jsontext.NewReader(t.source)
	column, offset := 1, 0
	for {
		x, err := r.Next()
		if err != nil {
			return err
		}
		if x.Kind == jsontext.End {
			return nil
		}
		column += width(t.source[offset:x.Start])
		seen := column + 1 // of a string: after the opening quote
		column += width(t.source[x.Start:x.Stop])
		offset = x.Stop
		if x.Kind != jsontext.String {
			seen = column
		}
		if n := len(t.rest); n > 0 && t.rest[n-1].kind == jsontext.Name {
			t.rest[n-1].seen, t.rest[n-1].read = seen, seen
		}
		t.rest = append(t.rest, token{kind: x.Kind, text: x.Text, seen: seen, read: column})
	}
}

// next consumes the next token. The source is valid JSON, so a compiler never reads beyond its end.
func (t *tokens) next() token {
	t.now = t.rest[0]
	t.rest = t.rest[1:]
	return t.now
}

// refuse returns a reason at the current token before its text was read.
func (t *tokens) refuse(why string) error {
	return t.refuseAt(t.now.seen, why)
}

// refuseRead returns a reason at the current token after its text was read.
func (t *tokens) refuseRead(why string) error {
	return t.refuseAt(t.now.read, why)
}

func (t *tokens) refuseAt(column int, why string) error {
	shown, rest := t.source, ""
	if n := width(t.source); n > shownSource {
		shown = cut(t.source, shownSource)
		rest = "[truncated " + strconv.Itoa(n-shownSource) + " chars]"
	}
	return refusal(why + "\n at [Source: (String)\"" + shown + "\"" + rest + "; line: 1, column: " +
		strconv.Itoa(column) + "]")
}

// width counts UTF-16 units, because Java counts columns in them.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

// cut returns the first n UTF-16 units of s, without splitting a character.
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
