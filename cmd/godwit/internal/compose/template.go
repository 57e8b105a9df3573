package compose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// numbered is what a template can use.
type numbered struct {
	N    int       // from 1 on
	Time time.Time // when the message is made, in UTC
}

// template is a text with places that are filled for each message. It is no text/template: that one calls methods by
// their names, so a program that links it keeps every method of every type, which is a third of the command.
type template []func(numbered) string

// what templates may have, for errors.
const places = `{{.N}}, {{printf "%05d" .N}}, {{.Time}}, {{.Time.Unix}} or {{.Time.Format "15:04:05"}}`

func parseTemplate(text string) (t template, err error) {
	for {
		before, rest, more := strings.Cut(text, "{{")
		t = append(t, func(numbered) string { return before })
		if !more {
			return t, nil
		}
		inside, behind, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("{{ has no }}: write %s", places)
		}
		place, err := parsePlace(strings.TrimSpace(inside))
		if err != nil {
			return nil, err
		}
		t, text = append(t, place), behind
	}
}

func parsePlace(text string) (func(numbered) string, error) {
	switch text {
	case ".N":
		return func(n numbered) string { return strconv.Itoa(n.N) }, nil
	case ".Time":
		return func(n numbered) string { return n.Time.String() }, nil
	case ".Time.Unix":
		return func(n numbered) string { return strconv.FormatInt(n.Time.Unix(), 10) }, nil
	}
	if quoted, ok := strings.CutPrefix(text, ".Time.Format "); ok {
		if layout, err := strconv.Unquote(strings.TrimSpace(quoted)); err == nil {
			return func(n numbered) string { return n.Time.Format(layout) }, nil
		}
	}
	if quoted, ok := strings.CutPrefix(text, "printf "); ok {
		quoted, ok = strings.CutSuffix(quoted, " .N")
		format, err := strconv.Unquote(strings.TrimSpace(quoted))
		if ok && err == nil && !strings.Contains(fmt.Sprintf(format, 1), "%!") {
			return func(n numbered) string { return fmt.Sprintf(format, n.N) }, nil
		}
	}
	return nil, fmt.Errorf("{{%s}} is unknown: write %s", text, places)
}

func (t template) fill(n numbered) string {
	var b strings.Builder
	for _, part := range t {
		b.WriteString(part(n))
	}
	return b.String()
}
