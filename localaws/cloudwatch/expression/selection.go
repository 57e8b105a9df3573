package expression

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Selection is a query in the language of CloudWatch Metrics Insights:
//
//	SELECT FUNCTION(metric) FROM namespace | SCHEMA(namespace, key, ...)
//	[WHERE key = 'value' AND ...] [GROUP BY key, ...] [ORDER BY FUNCTION() [ASC | DESC]] [LIMIT number]
type Selection struct {
	Function   string // AVG, COUNT, MAX, MIN or SUM
	Metric     string
	Namespace  string
	Exact      bool     // SCHEMA: a metric has the dimensions of Keys and no other ones
	Keys       []string // the keys of SCHEMA
	Where      []Condition
	GroupBy    []string
	OrderBy    string // a function of the values of a series; "": no order
	Descending bool
	Limit      int // of the series
}

// Condition is a comparison of WHERE. A metric without the dimension does not meet it.
type Condition struct {
	Key, Value string
	Not        bool // !=
}

// maxSelected is how many series CloudWatch returns at most.
const maxSelected = 500

// IsSelection reports whether a text is a query and not metric math.
func IsSelection(text string) bool {
	const word = "SELECT"
	text = strings.TrimSpace(text)
	return len(text) > len(word) && strings.EqualFold(text[:len(word)], word) && strings.TrimSpace(text[len(word):]) !=
		text[len(word):]
}

var selectionToken = regexp.MustCompile(`^(?:\d+|[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|!=|[=(),.])`)

// ParseSelection parses a query.
func ParseSelection(text string) (*Selection, error) {
	p := &selectionParser{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		token := selectionToken.FindString(rest)
		if token == "" {
			return nil, fmt.Errorf("unexpected text at %q", rest)
		}
		p.tokens, rest = append(p.tokens, token), rest[len(token):]
	}
	s := &Selection{Limit: maxSelected}
	for _, part := range []func(*Selection) error{
		p.source, p.conditions, p.groups, p.order, p.limit, p.end,
	} {
		if err := part(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// selectionParser reads tokens one after another.
type selectionParser struct {
	tokens []string
	at     int
}

func (p *selectionParser) next() string {
	if p.at == len(p.tokens) {
		return ""
	}
	p.at++
	return p.tokens[p.at-1]
}

// takes reads words if they are the next ones, in any case.
func (p *selectionParser) takes(words ...string) bool {
	if len(p.tokens)-p.at < len(words) {
		return false
	}
	for i, word := range words {
		if !strings.EqualFold(p.tokens[p.at+i], word) {
			return false
		}
	}
	p.at += len(words)
	return true
}

// expect reads words that must be the next ones.
func (p *selectionParser) expect(words ...string) error {
	for _, word := range words {
		if !p.takes(word) {
			return p.wants(word)
		}
	}
	return nil
}

func (p *selectionParser) wants(what string) error {
	if p.at == len(p.tokens) {
		return fmt.Errorf("%s is missing at the end", what)
	}
	return fmt.Errorf("%s is missing before %s", what, p.tokens[p.at])
}

// name reads the name of a metric, a namespace or a dimension. One with other characters than letters, digits and
// underscores is in double quotation marks.
func (p *selectionParser) name(what string) (string, error) {
	token := p.next()
	switch {
	case token != "" && token[0] == '"':
		return unquoted(token), nil
	case token == "" || token[0] != '_' && !isLetter(token[0]):
		p.at -= min(len(token), 1)
		return "", p.wants(what)
	case p.takes("."):
		return "", fmt.Errorf("%s.%s is not supported: tags and accounts are not labels here", token, p.next())
	}
	return token, nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// unquoted returns a token without its quotation marks and the backslashes before characters.
func unquoted(token string) string {
	var b strings.Builder
	for i := 1; i < len(token)-1; i++ {
		if token[i] == '\\' {
			i++
		}
		b.WriteByte(token[i])
	}
	return b.String()
}

func (p *selectionParser) names(what string) ([]string, error) {
	var all []string
	for {
		name, err := p.name(what)
		if err != nil {
			return nil, err
		}
		if all = append(all, name); !p.takes(",") {
			return all, nil
		}
	}
}

func (p *selectionParser) function() (string, error) {
	functions := []string{"AVG", "COUNT", "MAX", "MIN", "SUM"}
	for _, name := range functions {
		if p.takes(name, "(") {
			return name, nil
		}
	}
	return "", p.wants("one of the functions " + strings.Join(functions, ", "))
}

// source reads the function, the metric and the namespace.
func (p *selectionParser) source(s *Selection) (err error) {
	if err = p.expect("SELECT"); err != nil {
		return err
	}
	if s.Function, err = p.function(); err != nil {
		return err
	}
	if s.Metric, err = p.name("the name of a metric"); err != nil {
		return err
	}
	if err = p.expect(")", "FROM"); err != nil {
		return err
	}
	if s.Exact = p.takes("SCHEMA", "("); !s.Exact {
		s.Namespace, err = p.name("a namespace")
		return err
	}
	names, err := p.names("a namespace or the name of a dimension")
	if err != nil {
		return err
	}
	s.Namespace, s.Keys = names[0], names[1:]
	return p.expect(")")
}

func (p *selectionParser) conditions(s *Selection) error {
	if !p.takes("WHERE") {
		return nil
	}
	for {
		key, err := p.name("the name of a dimension")
		if err != nil {
			return err
		}
		c := Condition{Key: key, Not: p.takes("!=")}
		if !c.Not && !p.takes("=") {
			return p.wants("= or !=")
		}
		value := p.next()
		if value == "" || value[0] != '\'' {
			p.at -= min(len(value), 1)
			return p.wants("a value in single quotation marks")
		}
		c.Value = unquoted(value)
		if s.Where = append(s.Where, c); !p.takes("AND") {
			return nil
		}
	}
}

func (p *selectionParser) groups(s *Selection) (err error) {
	if p.takes("GROUP", "BY") {
		s.GroupBy, err = p.names("the name of a dimension")
	}
	return err
}

func (p *selectionParser) order(s *Selection) (err error) {
	if !p.takes("ORDER", "BY") {
		return nil
	}
	if s.OrderBy, err = p.function(); err != nil {
		return err
	}
	if err = p.expect(")"); err != nil {
		return err
	}
	s.Descending = p.takes("DESC")
	if !s.Descending {
		p.takes("ASC")
	}
	return nil
}

func (p *selectionParser) limit(s *Selection) error {
	if !p.takes("LIMIT") {
		return nil
	}
	n, err := strconv.Atoi(p.next())
	if err != nil || n < 1 || n > maxSelected {
		return fmt.Errorf("LIMIT must be a number from 1 to %d", maxSelected)
	}
	s.Limit = n
	return nil
}

func (p *selectionParser) end(s *Selection) error {
	if p.at < len(p.tokens) {
		return fmt.Errorf("unexpected %s", p.tokens[p.at])
	}
	if slices.Contains(s.GroupBy, "") || slices.Contains(s.Keys, "") || s.Metric == "" || s.Namespace == "" {
		return errors.New("a name is empty")
	}
	return nil
}

// Matches reports whether the query reads a metric of its namespace and name that has these dimensions.
func (s *Selection) Matches(dimensions map[string]string) bool {
	if s.Exact && len(dimensions) != len(s.Keys) {
		return false
	}
	for _, key := range slices.Concat(s.Keys, s.GroupBy) {
		if _, has := dimensions[key]; !has {
			return false
		}
	}
	for _, c := range s.Where {
		if value, has := dimensions[c.Key]; !has || (value == c.Value) == c.Not {
			return false
		}
	}
	return true
}

// Group returns the values of the dimensions by which the query groups.
func (s *Selection) Group(dimensions map[string]string) []string {
	values := make([]string, len(s.GroupBy))
	for i, key := range s.GroupBy {
		values[i] = dimensions[key]
	}
	return values
}

// Arrange puts series in the order of the query, and leaves out those above its limit.
func (s *Selection) Arrange(series []Series) []Series {
	if s.OrderBy != "" {
		slices.SortStableFunc(series, func(a, b Series) int {
			x, y := s.rank(a.Values), s.rank(b.Values)
			if s.Descending {
				x, y = y, x
			}
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	return series[:min(len(series), s.Limit)]
}

// rank returns the function of ORDER BY of the values of a series, which has at least one.
func (s *Selection) rank(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	switch s.OrderBy {
	case "AVG":
		return sum / float64(len(values))
	case "COUNT":
		return float64(len(values))
	case "MAX":
		return slices.Max(values)
	case "MIN":
		return slices.Min(values)
	}
	return sum
}
