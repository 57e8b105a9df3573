package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output is the form in which a command prints its result.
type output string

const (
	asTable     output = "table"
	asJSON      output = "json"
	asJSONLines output = "jsonl"
)

func (o *output) add(cmd *cobra.Command) {
	*o = asTable
	cmd.Flags().StringVarP((*string)(o), "output", "o", string(asTable),
		"the `form` of the result: table, json (one list) or jsonl (a line for each)")
}

func (o output) check() error {
	switch o {
	case asTable, asJSON, asJSONLines:
		return nil
	}
	return fmt.Errorf("--output is %q: use %s, %s or %s", string(o), asTable, asJSON, asJSONLines)
}

// table is a result as a table. A row with fewer cells than the head ends early.
type table struct {
	head   []string
	rows   [][]string
	noHead bool // the head is not printed
}

// print prints a result: the table, or the values as JSON.
func (o output) print(to io.Writer, t table, values []any) error {
	switch o {
	case asJSON:
		enc := json.NewEncoder(to)
		enc.SetIndent("", "  ")
		return enc.Encode(values)
	case asJSONLines:
		enc := json.NewEncoder(to)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := io.WriteString(to, t.String())
	return err
}

// gap is between two columns.
const gap = "  "

// String returns the table with columns that are as wide as their widest cell. Columns of numbers end at the right.
func (t table) String() string {
	rows := [][]string{t.head}
	for _, row := range t.rows {
		rows = append(rows, append(slices.Clone(row), make([]string, len(t.head)-len(row))...))
	}
	widths, numbers := make([]int, len(t.head)), make([]bool, len(t.head))
	for i := range t.head {
		numbers[i] = len(t.rows) > 0
		for k, row := range rows {
			if k > 0 || !t.noHead {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			}
			numbers[i] = numbers[i] && (k == 0 || isNumber(row[i]))
		}
	}
	var b strings.Builder
	if t.noHead {
		rows = rows[1:]
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(gap)
			}
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numbers[i] {
				line.WriteString(fill + cell)
			} else {
				line.WriteString(cell + fill)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// isNumber reports whether a cell is a number, or empty.
func isNumber(cell string) bool { return strings.Trim(cell, "0123456789.") == "" }

// ago is a time span in one or two units, the way people say it: 40s, 3m, 2h10m, 5d.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		if m := int(d%time.Hour) / int(time.Minute); m > 0 {
			return fmt.Sprintf("%dh%dm", int(d/time.Hour), m)
		}
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// screen is what the command prints to, errors too. It escapes everything that could control a terminal but line breaks
// and tabs, whatever part of the command prints it: control characters, bytes that are no UTF-8, and marks that change
// the direction of a text. In JSON the result means the same.
type screen struct {
	to   io.Writer
	rest []byte // of a character whose end has not come
}

func (s *screen) Write(p []byte) (int, error) {
	text := append(s.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if c := text[len(text)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-back:]) {
				whole = len(text) - back
			}
			break
		}
	}
	s.rest = slices.Clone(text[whole:])
	if _, err := s.to.Write(escaped(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes what is printed to, if that can be closed.
func (s *screen) Close() error {
	if c, ok := s.to.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, "\\x%02x", text[0])
		case r != '\n' && r != '\t' && unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			out = fmt.Appendf(out, "\\u%04x", r)
		default:
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// terminalOf returns the terminal behind a screen, for what the command itself draws; nil: there is none.
func terminalOf(w io.Writer) io.Writer {
	s, ok := w.(*screen)
	if !ok {
		return nil
	}
	f, ok := s.to.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}
