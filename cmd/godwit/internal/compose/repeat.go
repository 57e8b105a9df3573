package compose

import (
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit"
)

// Source returns the next message, or io.EOF. An error names the line or the message.
type Source func() (godwit.Message, error)

// Repeat returns a message so many times. With templates, its body, keys and the values of its headers are templates:
// {{.N}} is the number of the message, and {{.Time}} its time.
func Repeat(m godwit.Message, count int, templates bool, now func() time.Time) (Source, error) {
	var fill func(numbered) godwit.Message // nil: there are no templates
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
		return fill(numbered{n, now().UTC()}), nil
	}, nil
}

// templatesOf parses the templates of a message once.
func templatesOf(m godwit.Message) (func(numbered) godwit.Message, error) {
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
	parsed := make([]template, len(parts))
	for i, p := range parts {
		var err error
		if parsed[i], err = parseTemplate(p.text); err != nil {
			return nil, fmt.Errorf("%s is no template: %w", p.name, err)
		}
	}
	return func(n numbered) godwit.Message {
		out := m
		out.Headers = append(godwit.Headers{}, m.Headers...)
		for i, t := range parsed {
			parts[i].put(&out, t.fill(n))
		}
		return out
	}, nil
}
