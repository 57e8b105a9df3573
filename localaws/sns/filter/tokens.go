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

// tokenize splits the compact source into tokens.
func (c *compiler) tokenize() error {
	r := jsontext.NewReader(c.source)
	column, offset := 1, 0
	for {
		t, err := r.Next()
		if err != nil {
			return err
		}
		if t.Kind == jsontext.End {
			return nil
		}
		column += width(c.source[offset:t.Start])
		seen := column + 1 // of a string: after the opening quote
		column += width(c.source[t.Start:t.Stop])
		offset = t.Stop
		if t.Kind != jsontext.String {
			seen = column
		}
		if n := len(c.tokens); n > 0 && c.tokens[n-1].kind == jsontext.Name {
			c.tokens[n-1].seen, c.tokens[n-1].read = seen, seen
		}
		c.tokens = append(c.tokens, token{kind: t.Kind, text: t.Text, seen: seen, read: column})
	}
}

// next consumes the next token. The source is valid JSON, so the compiler never reads beyond its end.
func (c *compiler) next() token {
	c.now = c.tokens[0]
	c.tokens = c.tokens[1:]
	return c.now
}

// refuse returns a reason at the current token before its text was read.
func (c *compiler) refuse(why string) error {
	return c.refuseAt(c.now.seen, why)
}

// refuseRead returns a reason at the current token after its text was read.
func (c *compiler) refuseRead(why string) error {
	return c.refuseAt(c.now.read, why)
}

func (c *compiler) refuseAt(column int, why string) error {
	shown, rest := c.source, ""
	if n := width(c.source); n > shownSource {
		shown = cut(c.source, shownSource)
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
