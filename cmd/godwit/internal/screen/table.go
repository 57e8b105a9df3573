package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Table is a result as a table. A row with fewer cells than the head ends early.
type Table struct {
	Head []string
	Rows [][]string
	// Spare are heads of columns that a narrow terminal does without, the least important first. What does not fit then
	// is printed with a line for each cell.
	Spare  []string
	NoHead bool // the head is not printed
	// Colors are those of the rows on a terminal, unless NO_COLOR is set; nil: they have none.
	Colors []Color
}

// Color is the color of a row: the SGR parameter of ECMA-48. The zero value is the terminal's own color.
type Color int

const (
	Red     Color = 31
	Yellow  Color = 33
	Magenta Color = 35
)

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
	lines := t.within(widthOf(to))
	terminal := TerminalOf(to)
	if t.Colors == nil || terminal == nil || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		_, err := io.WriteString(to, textOf(lines))
		return err
	}
	var b strings.Builder // to escapes colors, so that they go past it
	for _, l := range lines {
		text := Escape(l.text)
		if l.row >= 0 && t.Colors[l.row] != 0 {
			text = fmt.Sprintf("\x1b[%dm%s\x1b[0m", t.Colors[l.row], text)
		}
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(terminal, b.String())
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

// line is a line of a printed table.
type line struct {
	text string
	row  int // that it is of; -1: of none
}

func textOf(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// within is the table for a terminal of a width; 0: there is room.
func (t Table) within(width int) []line {
	lines := t.lines()
	spare := t.Spare
	for width > 0 && widest(lines) > width {
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
		lines, spare = t.lines(), spare[1:]
	}
	return lines
}

// widest is the length of the longest line.
func widest(lines []line) (most int) {
	for _, l := range lines {
		most = max(most, utf8.RuneCountInString(l.text))
	}
	return most
}

// cells has a line for each cell that is not empty, and an empty one between two rows.
func (t Table) cells() (lines []line) {
	for i, row := range t.Rows {
		if i > 0 {
			lines = append(lines, line{"", -1})
		}
		for k, cell := range row {
			if cell != "" {
				lines = append(lines, line{strings.ToLower(t.Head[k]) + ": " + cell, i})
			}
		}
	}
	return lines
}

// Gap is between two columns.
const Gap = "  "

// String returns the table with columns that are as wide as their widest cell. Columns of numbers end at the right.
func (t Table) String() string { return textOf(t.lines()) }

func (t Table) lines() (lines []line) {
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
	for k, row := range rows {
		if k == 0 && t.NoHead {
			continue
		}
		var text strings.Builder
		for i, cell := range row {
			if i > 0 {
				text.WriteString(Gap)
			}
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numbers[i] {
				text.WriteString(fill + cell)
			} else {
				text.WriteString(cell + fill)
			}
		}
		lines = append(lines, line{strings.TrimRight(text.String(), " "), k - 1})
	}
	return lines
}

// isNumber reports whether a cell is a number, or empty.
func isNumber(cell string) bool { return strings.Trim(cell, "0123456789.") == "" }
