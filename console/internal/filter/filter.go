package filter

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// longest bounds the text of a filter, in bytes.
const longest = 4096

// Filter selects messages.
type Filter struct {
	Text      string // as it was written
	Selection ops.Selection
	All       bool // the only term is all
	// Bodies: a term looks into bodies. Headers are the names of headers that a term looks at.
	Bodies  bool
	Headers []string
}

// Expression compiles an expression on bodies, for the term jq. Its error says what is wrong.
type Expression func(text string) (selects func(body []byte) (bool, error), err error)

// Error says why a filter does not parse.
type Error struct {
	Text   string
	Column int // from 1
	Why    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the filter does not parse at column %d: %s", e.Column, e.Why)
}

// Pointer is the filter, and below it a mark at the column.
func (e *Error) Pointer() string {
	return strings.Map(plain, e.Text) + "\n" + strings.Repeat(" ", max(0, e.Column-1)) + "^"
}

// plain makes each character one column wide.
func plain(r rune) rune {
	if unicode.IsControl(r) || unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// Parse reads a filter. jq may be nil: then there is no such term.
func Parse(text string, jq Expression) (*Filter, error) {
	p := &parser{text: text, jq: jq, f: &Filter{Text: strings.TrimSpace(text)}}
	switch {
	case len(text) > longest:
		return nil, p.fail(longest, "it is longer than %d bytes", longest)
	case !utf8.ValidString(text):
		return nil, p.fail(0, "it is no UTF-8")
	case p.f.Text == "":
		return nil, p.fail(0, "it is empty: write a term such as kind:timeout, or all")
	}
	for p.skip(); p.at < len(text); p.skip() {
		if err := p.term(); err != nil {
			return nil, err
		}
	}
	if p.f.All && p.terms > 1 {
		return nil, p.fail(p.allAt, "all stands alone: remove it, or the other terms")
	}
	s := &p.f.Selection
	if s.NewerThan > 0 && s.NewerThan < s.OlderThan {
		return nil, p.fail(0, "no message is older than %v and newer than %v", s.OlderThan, s.NewerThan)
	}
	if !s.DiedTo.IsZero() && !s.DiedFrom.Before(s.DiedTo) {
		return nil, p.fail(0, "from: is not before to:")
	}
	p.join()
	return p.f, nil
}

// Quote writes a value as a term needs it.
func Quote(value string) string {
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '"' || r == '\\'
	}) {
		return value
	}
	return strconv.Quote(value)
}

type parser struct {
	text   string
	at     int // in bytes
	terms  int
	allAt  int
	jq     Expression
	bodies []func(body []byte) (bool, error)
	f      *Filter
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{p.text, utf8.RuneCountInString(p.text[:min(at, len(p.text))]) + 1, fmt.Sprintf(format, args...)}
}

func (p *parser) skip() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// term reads a term: a key, a colon and a value, which may be quoted.
func (p *parser) term() error {
	begin := p.at
	p.terms++
	for p.at < len(p.text) && p.text[p.at] >= 'a' && p.text[p.at] <= 'z' {
		p.at++
	}
	key := p.text[begin:p.at]
	if key == "all" && (p.at == len(p.text) || p.text[p.at] == ' ') {
		p.f.All, p.allAt = true, begin
		return nil
	}
	if key == "" || p.at == len(p.text) || p.text[p.at] != ':' {
		return p.fail(begin, "a term is a key, a colon and a value, such as kind:timeout or body:kite")
	}
	p.at++
	value, from, err := p.value()
	if err != nil {
		return err
	}
	if value == "" {
		return p.fail(from, "%s: has no value", key)
	}
	if err := p.set(key, value); err != nil {
		if err == errKey { //nolint:errorlint // it is never wrapped
			return p.fail(begin, "there is no term %s: the terms are %s", key, p.keys())
		}
		return p.fail(from, "%v", err)
	}
	return nil
}

func (p *parser) value() (value string, from int, err error) {
	from = p.at
	if p.at < len(p.text) && p.text[p.at] == '"' {
		quoted, err := strconv.QuotedPrefix(p.text[p.at:])
		if err != nil {
			return "", from, p.fail(from, "the quotation has no end, or a wrong escape")
		}
		p.at += len(quoted)
		value, err = strconv.Unquote(quoted)
		if err != nil {
			return "", from, p.fail(from, "the quotation cannot be read")
		}
		if r, _ := utf8.DecodeRuneInString(p.text[p.at:]); p.at < len(p.text) && !unicode.IsSpace(r) {
			return "", from, p.fail(p.at, "a space must follow the quotation")
		}
		return value, from, nil
	}
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if unicode.IsSpace(r) {
			break
		}
		p.at += n
	}
	return p.text[from:p.at], from, nil
}

const errKey = wrong("no such key")

// wrong is an error about a value.
type wrong string

func (w wrong) Error() string { return string(w) }

func (p *parser) keys() string {
	all := "kind, group, error, header, key, older, newer, from, to, attempts, id, body"
	if p.jq != nil {
		all += ", jq"
	}
	return all + " and all"
}

// set adds a term to the selection.
func (p *parser) set(key, value string) (err error) {
	s := &p.f.Selection
	switch key {
	case "kind":
		s.Kinds = append(s.Kinds, strings.Split(value, ",")...)
	case "group":
		return once(&s.Group, value)
	case "error":
		return once(&s.Error, value)
	case "header":
		name, v, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return wrong("a header is name=value")
		}
		s.Headers = append(s.Headers, driver.Header{Name: name, Value: v})
		p.f.Headers = append(p.f.Headers, name)
	case "key":
		s.Keys = append(s.Keys, value)
	case "older":
		s.OlderThan, err = span(value)
	case "newer":
		s.NewerThan, err = span(value)
	case "from":
		s.DiedFrom, err = instant(value)
	case "to":
		s.DiedTo, err = instant(value)
	case "attempts":
		n, bad := strconv.Atoi(value)
		if bad != nil || n < 1 {
			return wrong("the number of attempts is from 1 on")
		}
		s.MinAttempts = n
	case "id":
		s.IDs = append(s.IDs, strings.Split(value, ",")...)
	case "body":
		p.bodies = append(p.bodies, func(body []byte) (bool, error) { return bytes.Contains(body, []byte(value)), nil })
	case "jq":
		if p.jq == nil {
			return errKey
		}
		selects, bad := p.jq(value)
		if bad != nil {
			return wrong(bad.Error())
		}
		p.bodies = append(p.bodies, selects)
	default:
		return errKey
	}
	return err
}

// join makes one function of all that look into bodies.
func (p *parser) join() {
	all := p.bodies
	if len(all) == 0 {
		return
	}
	p.f.Bodies = true
	p.f.Selection.Body = func(body []byte) (bool, error) {
		for _, selects := range all {
			if ok, err := selects(body); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

func once(to *string, value string) error {
	if *to != "" && *to != value {
		return wrong("the term is there twice, and no message has both")
	}
	*to = value
	return nil
}

// span reads a duration, which may be a number of days.
func span(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || d <= 0 {
		return 0, wrong("a duration is such as 90s, 2h or 3d")
	}
	return d, nil
}

// instant reads a time.
func instant(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, wrong("a time is such as 2026-11-26T13:00:00Z, or a date in UTC")
}
