package filter

import (
	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

const onlyOne = "Only one key allowed in match expression"

// expression compiles one {"operator": …} whose opening brace was consumed.
func (c *compiler) expression() (pattern, error) {
	if c.next().kind != jsontext.Name {
		return nil, c.refuse("Match expression name not found")
	}
	switch operator := c.now.text; operator {
	case "prefix":
		text, err := c.onlyString(operator)
		return prefix(text), err
	case "suffix":
		text, err := c.onlyString(operator)
		return suffix(text), err
	case "equals-ignore-case":
		text, err := c.onlyString(operator)
		return ignoringCase(text), err
	case "wildcard":
		return c.wildcard()
	case "cidr":
		return c.cidr()
	case "exists":
		return c.exists()
	case "numeric":
		return c.numeric()
	case "anything-but":
		return c.anythingBut()
	default:
		return nil, c.refuse("Unrecognized match type " + operator)
	}
}

// onlyString consumes the string of an operator and the end of its expression.
func (c *compiler) onlyString(operator string) (string, error) {
	if c.next().kind != jsontext.String {
		return "", c.refuse(operator + " match pattern must be a string")
	}
	text := c.now.text
	if c.next().kind != jsontext.ObjectEnd {
		return "", c.refuse(onlyOne)
	}
	return text, nil
}

func (c *compiler) cidr() (pattern, error) {
	if c.next().kind != jsontext.String {
		// The text says prefix here on SNS, too.
		return nil, c.refuse("prefix match pattern must be a string")
	}
	block, why := parseCIDR(c.now.text)
	if why != "" {
		return nil, refusal(why)
	}
	if c.next().kind != jsontext.ObjectEnd {
		return nil, c.refuse(onlyOne)
	}
	return block, nil
}

func (c *compiler) exists() (pattern, error) {
	kind := c.next().kind
	if kind != jsontext.True && kind != jsontext.False {
		return nil, c.refuse("exists match pattern must be either true or false.")
	}
	if c.next().kind != jsontext.ObjectEnd {
		return nil, c.refuse(onlyOne)
	}
	return exists(kind == jsontext.True), nil
}

func (c *compiler) anythingBut() (pattern, error) {
	switch c.next().kind {
	case jsontext.ObjectStart:
		return c.anythingButOperator()
	case jsontext.ArrayStart:
		return c.anythingButList()
	case jsontext.String:
		return anythingBut{texts: []string{c.now.text}}, c.endOfAnythingBut()
	case jsontext.Number:
		n, ok := parseNumber(c.now.text)
		if !ok {
			return nil, refusal(outOfRange)
		}
		return anythingBut{numbers: []int64{n}}, c.endOfAnythingBut()
	}
	return nil, c.refuse("Value of anything-but must be an array or single string/number value.")
}

// anythingButOperator compiles an operator within anything-but.
func (c *compiler) anythingButOperator() (pattern, error) {
	if c.next().kind != jsontext.Name {
		return nil, c.refuse("Anything-But expression name not found")
	}
	switch c.now.text {
	case "prefix":
		return c.anythingButPrefix()
	case "wildcard":
		return c.anythingButWildcard()
	}
	return nil, c.refuse("Unsupported anything-but pattern: " + c.now.text)
}

func (c *compiler) anythingButPrefix() (pattern, error) {
	if c.next().kind != jsontext.String {
		return nil, c.refuse("prefix match pattern must be a string")
	}
	text := c.now.text
	if text == "" {
		return nil, c.refuseRead("Null prefix not allowed")
	}
	return anythingButPrefix(text), c.endOfNested()
}

// endOfNested consumes the end of an operator within anything-but, and that of the expression.
func (c *compiler) endOfNested() error {
	for range 2 {
		if c.next().kind != jsontext.ObjectEnd {
			return c.refuse(onlyOne)
		}
	}
	return nil
}

func (c *compiler) anythingButList() (pattern, error) {
	var p anythingBut
	for c.next().kind != jsontext.ArrayEnd {
		switch c.now.kind {
		case jsontext.String:
			p.texts = append(p.texts, c.now.text)
		case jsontext.Number:
			n, ok := parseNumber(c.now.text)
			if !ok {
				return nil, c.refuse(outOfRange)
			}
			p.numbers = append(p.numbers, n)
		default:
			return nil, c.refuse("Inside anything but list, start|null|boolean is not supported.")
		}
	}
	if (p.texts == nil) == (p.numbers == nil) {
		return nil, c.refuse("Inside anything but list, either all values are number or string, mixed type is not " +
			"supported")
	}
	return p, c.endOfAnythingBut()
}

func (c *compiler) endOfAnythingBut() error {
	if c.next().kind != jsontext.ObjectEnd {
		return c.refuse("Too many elements in numeric expression")
	}
	return nil
}
