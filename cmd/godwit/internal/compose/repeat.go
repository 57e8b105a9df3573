package compose

import (
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/godwitmq/godwit"
)

// Source returns the next message, or io.EOF. An error names the line or the message.
type Source func() (godwit.Message, error)

// numbered is what a template can use.
type numbered struct {
	N    int       // from 1 on
	Time time.Time // when the message is made, in UTC
}

// Repeat returns a message so many times. With templates, its body, keys and the values of its headers are templates of
// text/template: {{.N}} is the number of the message, and {{.Time}} its time.
func Repeat(m godwit.Message, count int, templates bool, now func() time.Time) (Source, error) {
	var fill func(numbered) (godwit.Message, error) // nil: there are no templates
	if templates {
		var err error
		if fill, err = templatesOf(m); err != nil {
			return nil, err
		}
	}
	n := 0
	return func() (godwit.Message, error) {
		if n == count {
			return godwit.Message{}, io.EOF
		}
		n++
		if fill == nil {
			return m, nil
		}
		return fill(numbered{n, now().UTC()})
	}, nil
}

// templatesOf parses the templates of a message once.
func templatesOf(m godwit.Message) (func(numbered) (godwit.Message, error), error) {
	parts := []struct {
		name string
		text string
		put  func(m *godwit.Message, text string)
	}{
		{"the body", string(m.Body), func(m *godwit.Message, text string) { m.Body = []byte(text) }},
		{"--key", m.OrderKey, func(m *godwit.Message, text string) { m.OrderKey = text }},
		{"--routing-key", m.RoutingKey, func(m *godwit.Message, text string) { m.RoutingKey = text }},
		{"--dedup-id", m.DedupID, func(m *godwit.Message, text string) { m.DedupID = text }},
	}
	for i, h := range m.Headers {
		parts = append(parts, struct {
			name string
			text string
			put  func(m *godwit.Message, text string)
		}{"--header " + h.Name, h.Value, func(m *godwit.Message, text string) { m.Headers[i].Value = text }})
	}
	parsed := make([]*template.Template, len(parts))
	for i, p := range parts {
		t, err := template.New("").Option("missingkey=error").Parse(p.text)
		if err == nil {
			err = t.Execute(io.Discard, numbered{}) // so that a wrong name is found before anything is sent
		}
		if err != nil {
			return nil, fmt.Errorf("%s is no template: %s", p.name, strings.TrimPrefix(err.Error(), "template: "))
		}
		parsed[i] = t
	}
	return func(n numbered) (godwit.Message, error) {
		out := m
		out.Headers = append(godwit.Headers{}, m.Headers...)
		for i, t := range parsed {
			var b strings.Builder
			if err := t.Execute(&b, n); err != nil {
				return out, fmt.Errorf("%s of message %d: %w", parts[i].name, n.N, err)
			}
			parts[i].put(&out, b.String())
		}
		return out, nil
	}, nil
}
