package filter

import (
	"math"
	"strconv"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

const (
	numberBound = 1e9 // SNS: numbers within ±10⁹
	numberScale = 1e5 // SNS: five digits after the decimal point
	outOfRange  = "Value must be between -1.0E9 and 1.0E9, inclusive"
)

// parseNumber returns a JSON number in comparable form; ok is false beyond the bounds.
func parseNumber(text string) (n int64, ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < -numberBound || f > numberBound {
		return 0, false
	}
	return int64(math.Round(f * numberScale)), true
}

// numericRange matches numbers from low to high, both included. Comparable numbers are integers, so an exclusive bound
// is the next integer.
type numericRange struct{ low, high int64 }

var (
	lowest  = int64(-numberBound * numberScale)
	highest = int64(numberBound * numberScale)
)

// numeric compiles ["operator", number] and ["lower operator", number, "upper operator", number].
func (c *compiler) numeric() (pattern, error) {
	if c.next().kind != jsontext.ArrayStart {
		return nil, c.refuse("Value of numeric must be an array.")
	}
	p, err := c.numericArray()
	if err != nil {
		return nil, err
	}
	if c.next().kind != jsontext.ObjectEnd {
		return nil, c.refuse("Too many elements in numeric expression")
	}
	return p, nil
}

func (c *compiler) numericArray() (pattern, error) {
	if c.next().kind != jsontext.String {
		return nil, c.refuseRead("Invalid member in numeric match: " + c.now.text)
	}
	operator := c.now.text
	c.next()
	switch operator {
	case "=":
		n, err := c.number("equals")
		return numericRange{n, n}, c.endOfNumeric(err)
	case "<":
		n, err := c.number(operator)
		return numericRange{lowest, n - 1}, c.endOfNumeric(err)
	case "<=":
		n, err := c.number(operator)
		return numericRange{lowest, n}, c.endOfNumeric(err)
	case ">", ">=":
		return c.numericFrom(operator)
	}
	return nil, c.refuse("Unrecognized numeric range operator: " + operator)
}

// number parses the current token as the number of an operator.
func (c *compiler) number(operator string) (int64, error) {
	if c.now.kind != jsontext.Number {
		return 0, c.refuse("Value of " + operator + " must be numeric")
	}
	n, ok := parseNumber(c.now.text)
	if !ok {
		return 0, c.refuse(outOfRange)
	}
	return n, nil
}

func (c *compiler) endOfNumeric(err error) error {
	if err == nil && c.next().kind != jsontext.ArrayEnd {
		err = c.refuse("Too many elements in numeric expression")
	}
	return err
}

// numericFrom compiles an expression that begins with > or >=: without an upper bound, or a range.
func (c *compiler) numericFrom(operator string) (pattern, error) {
	bottom, err := c.number(operator)
	if err != nil {
		return nil, err
	}
	low := bottom
	if operator == ">" {
		low++
	}
	if c.next().kind == jsontext.ArrayEnd {
		return numericRange{low, highest}, nil
	}
	if c.now.kind != jsontext.String {
		return nil, c.refuseRead("Bad value in numeric range: " + c.now.text)
	}
	upper := c.now.text
	if upper != "<" && upper != "<=" {
		return nil, c.refuseRead("Bad numeric range operator: " + upper)
	}
	c.next()
	top, err := c.number(upper)
	if err != nil {
		return nil, err
	}
	if c.next().kind != jsontext.ArrayEnd {
		return nil, c.refuse("Too many terms in numeric range expression")
	}
	if bottom >= top {
		return nil, c.refuse("Bottom must be less than top")
	}
	if upper == "<" {
		top--
	}
	return numericRange{low, top}, nil
}

func (p numericRange) matches(v *value) bool {
	n, ok := v.number()
	return ok && p.low <= n && n <= p.high
}
