package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Expression is a parsed text.
type Expression struct {
	root node
	ids  []string
	all  bool // it uses METRICS
}

// IDs returns the ids that the expression uses by name.
func (e *Expression) IDs() []string { return e.ids }

// UsesMetrics reports whether the expression uses METRICS(), which stands for every metric of the request.
func (e *Expression) UsesMetrics() bool { return e.all }

// node is a part of an expression.
type node struct {
	kind     kind
	text     string // an id, an operator, a function's name, a string
	number   float64
	children []node
}

type kind uint8

const (
	numberNode kind = iota
	idNode
	textNode
	listNode
	operatorNode
	callNode
)

// parser reads tokens one after another.
type parser struct {
	tokens []string
	at     int
	depth  int
	e      *Expression
}

var tokenForm = regexp.MustCompile(`^(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*'|<=|>=|==|!=|&&|\|\||[-+*/^()\[\],<>])`)

// maxDepth bounds nesting, so that a malicious expression cannot exhaust the stack.
const maxDepth = 64

// Parse parses a text.
func Parse(text string) (*Expression, error) {
	p := &parser{e: &Expression{}}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		token := tokenForm.FindString(rest)
		if token == "" {
			return nil, fmt.Errorf("unexpected character at %q", rest)
		}
		p.tokens, rest = append(p.tokens, token), rest[len(token):]
	}
	root, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.tokens) {
		return nil, fmt.Errorf("unexpected %q", p.tokens[p.at])
	}
	p.e.root = root
	return p.e, nil
}

// levels are the binary operators, those that bind loosest first.
var levels = [][]string{
	{"OR", "||"}, {"AND", "&&"}, {"==", "!=", "<", ">", "<=", ">="}, {"+", "-"}, {"*", "/"},
}

func (p *parser) binary(level int) (node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil && slices.Contains(levels[level], strings.ToUpper(p.peek())) {
		operator := strings.ToUpper(p.next())
		var right node
		if right, err = p.binary(level + 1); err == nil {
			left = node{kind: operatorNode, text: operator, children: []node{left, right}}
		}
	}
	return left, err
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return node{}, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.peek() == "-" {
		p.next()
		x, err := p.unary()
		zero := node{kind: numberNode}
		return node{kind: operatorNode, text: "-", children: []node{zero, x}}, err
	}
	base, err := p.primary()
	if err != nil || p.peek() != "^" {
		return base, err
	}
	p.next()
	power, err := p.unary()
	return node{kind: operatorNode, text: "^", children: []node{base, power}}, err
}

func (p *parser) primary() (node, error) {
	token := p.next()
	switch {
	case token == "":
		return node{}, fmt.Errorf("unexpected end")
	case token == "(":
		x, err := p.binary(0)
		if err == nil && p.next() != ")" {
			err = fmt.Errorf("a closing parenthesis is missing")
		}
		return x, err
	case token == "[":
		children, err := p.list("]")
		return node{kind: listNode, children: children}, err
	case token[0] == '"' || token[0] == '\'':
		return node{kind: textNode, text: token[1 : len(token)-1]}, nil
	case token[0] == '.' || token[0] >= '0' && token[0] <= '9':
		x, err := strconv.ParseFloat(token, 64)
		return node{kind: numberNode, number: x}, err
	case p.peek() == "(":
		p.next()
		return p.call(strings.ToUpper(token))
	case token[0] >= 'a' && token[0] <= 'z':
		if !slices.Contains(p.e.ids, token) {
			p.e.ids = append(p.e.ids, token)
		}
		return node{kind: idNode, text: token}, nil
	case token == "REPEAT" || token == "LINEAR":
		return node{kind: textNode, text: token}, nil
	}
	return node{}, fmt.Errorf("unexpected %q", token)
}

func (p *parser) call(name string) (node, error) {
	f, known := functions()[name]
	if !known {
		return node{}, fmt.Errorf("function %s is not supported; supported are %s", name,
			strings.Join(Functions(), ", "))
	}
	children, err := p.list(")")
	if err == nil && (len(children) < f.least || len(children) > f.most) {
		err = fmt.Errorf("function %s cannot have %d arguments", name, len(children))
	}
	p.e.all = p.e.all || name == "METRICS"
	return node{kind: callNode, text: name, children: children}, err
}

// list reads expressions between commas up to an end.
func (p *parser) list(end string) ([]node, error) {
	var children []node
	if p.peek() == end {
		p.next()
		return nil, nil
	}
	for {
		x, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		children = append(children, x)
		switch token := p.next(); token {
		case end:
			return children, nil
		case ",":
		default:
			return nil, fmt.Errorf("expected a comma or %q, not %q", end, token)
		}
	}
}

func (p *parser) peek() string {
	if p.at == len(p.tokens) {
		return ""
	}
	return p.tokens[p.at]
}

func (p *parser) next() string {
	token := p.peek()
	if token != "" {
		p.at++
	}
	return token
}
