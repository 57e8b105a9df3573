package screen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Output is the form in which a command prints its result.
type Output string

const (
	AsTable     Output = "table"
	AsJSON      Output = "json"
	AsJSONLines Output = "jsonl"
)

// Add adds the flag --output.
func (o *Output) Add(cmd *cobra.Command) {
	*o = AsTable
	cmd.Flags().StringVarP((*string)(o), "output", "o", string(AsTable),
		"the `form` of the result: table, json (one list) or jsonl (a line for each)")
}

// Check refuses forms that there are not.
func (o Output) Check() error {
	switch o {
	case AsTable, AsJSON, AsJSONLines:
		return nil
	}
	return fmt.Errorf("--output is %q: use %s, %s or %s", string(o), AsTable, AsJSON, AsJSONLines)
}

// Table is a result as a table. A row with fewer cells than the head ends early.
type Table struct {
	Head []string
	Rows [][]string
	// Spare are heads of columns that a narrow terminal does without, the least important first. What does not fit then
	// is printed with a line for each cell.
	Spare  []string
	NoHead bool // the head is not printed
}

// Print prints a result: the table, or the values as JSON.
func (o Output) Print(to io.Writer, t Table, values []any) error {
	switch o {
	case AsJSON:
		enc := json.NewEncoder(to)
		enc.SetIndent("", "  ")
		return enc.Encode(values)
	case AsJSONLines:
		enc := json.NewEncoder(to)
		for _, v := range values {
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := io.WriteString(to, t.within(widthOf(to)))
	return err
}

// widthOf is how many columns the terminal behind a Writer has; 0: it is no terminal.
func widthOf(to io.Writer) int {
	f, ok := TerminalOf(to).(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// within is the table for a terminal of a width; 0: there is room.
func (t Table) within(width int) string {
	text := t.String()
	spare := t.Spare
	for width > 0 && widest(text) > width {
		if len(spare) == 0 {
			return t.cells()
		}
		if i := slices.Index(t.Head, spare[0]); i >= 0 {
			t.Head = slices.Delete(slices.Clone(t.Head), i, i+1)
			rows := make([][]string, len(t.Rows))
			for k, row := range t.Rows {
				if rows[k] = row; i < len(row) {
					rows[k] = slices.Delete(slices.Clone(row), i, i+1)
				}
			}
			t.Rows = rows
		}
		text, spare = t.String(), spare[1:]
	}
	return text
}

// widest is the length of the longest line.
func widest(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return most
}

// cells has a line for each cell that is not empty, and one between two rows.
func (t Table) cells() string {
	var b strings.Builder
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for k, cell := range row {
			if cell != "" {
				fmt.Fprintf(&b, "%s: %s\n", strings.ToLower(t.Head[k]), cell)
			}
		}
	}
	return b.String()
}

// Gap is between two columns.
const Gap = "  "

// String returns the table with columns that are as wide as their widest cell. Columns of numbers end at the right.
func (t Table) String() string {
	rows := [][]string{t.Head}
	for _, row := range t.Rows {
		rows = append(rows, append(slices.Clone(row), make([]string, len(t.Head)-len(row))...))
	}
	widths, numbers := make([]int, len(t.Head)), make([]bool, len(t.Head))
	for i := range t.Head {
		numbers[i] = len(t.Rows) > 0
		for k, row := range rows {
			if k > 0 || !t.NoHead {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			}
			numbers[i] = numbers[i] && (k == 0 || isNumber(row[i]))
		}
	}
	var b strings.Builder
	if t.NoHead {
		rows = rows[1:]
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(Gap)
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

// Ago is a time span in one or two units, the way people say it: 40s, 3m, 2h10m, 5d.
func Ago(d time.Duration) string {
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

// Spark draws numbers as a line of bars, each as high as its share of the largest. NaN is unknown, and a question mark.
func Spark(values []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	largest := 0.0
	for _, v := range values {
		if v > largest {
			largest = v
		}
	}
	line := make([]rune, len(values))
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			line[i] = '?'
		case v <= 0:
			line[i] = bars[0]
		default: // what is not zero is higher than zero
			line[i] = bars[max(1, int(v/largest*float64(len(bars)-1)+0.5))]
		}
	}
	return string(line)
}

// Writer is what the command prints to, errors too. It escapes everything that could control a terminal but line breaks
// and tabs, whatever part of the command prints it: control characters, bytes that are no UTF-8, and marks that change
// the direction of a text. In JSON the result means the same.
type Writer struct {
	To   io.Writer
	Gone func() // is called when nobody reads any more; nil: nothing is
	rest []byte // of a character whose end has not come
}

func (s *Writer) Write(p []byte) (int, error) {
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
	if _, err := s.To.Write(escaped(text[:whole])); err != nil {
		if s.Gone != nil && errors.Is(err, syscall.EPIPE) {
			s.Gone()
		}
		return 0, err
	}
	return len(p), nil
}

// Close closes what is printed to, if that can be closed.
func (s *Writer) Close() error {
	if c, ok := s.To.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Escape is a text without anything that could control a terminal but line breaks and tabs.
func Escape(text string) string { return string(escaped([]byte(text))) }

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

// TerminalOf returns the terminal behind a Writer, for what the command itself draws; nil: there is none.
func TerminalOf(w io.Writer) io.Writer {
	s, ok := w.(*Writer)
	if !ok {
		return nil
	}
	f, ok := s.To.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}
