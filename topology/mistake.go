package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/internal/nearname"
)

// Mistake is something wrong in a declaration.
type Mistake struct {
	File         string // "": the Spec was made by a program
	Line, Column int    // 0: the Spec was made by a program
	Path         string // of the key: channels.orders.delay
	Text         string // what is wrong, and how to repair it
}

func (m Mistake) String() string {
	text := m.Text
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.Line == 0 {
		return text
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, text)
}

// MistakesError is all that is wrong in a declaration, in the order of the file.
type MistakesError struct{ Mistakes []Mistake }

func (e *MistakesError) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// place is where a key is in a file.
type place struct{ line, column int }

// mistakes collects what is wrong.
type mistakes struct {
	file string
	at   map[string]place // by path
	all  []Mistake
}

// add adds a mistake at a path. A path that is not in the file is reported at the nearest one above it.
func (m *mistakes) add(path, format string, args ...any) {
	for i, arg := range args {
		if d, ok := arg.(time.Duration); ok {
			args[i] = short(d, "0s") // as in the file
		}
	}
	where, known := m.at[path]
	for above := path; !known && above != ""; {
		above = above[:max(strings.LastIndexByte(above, '.'), 0)]
		where, known = m.at[above]
	}
	m.addAt(where, path, format, args...)
}

func (m *mistakes) addAt(where place, path, format string, args ...any) {
	m.all = append(m.all, Mistake{
		File: m.file, Line: where.line, Column: where.column, Path: path, Text: fmt.Sprintf(format, args...),
	})
}

// err is the mistakes as an error; nil: there are none.
func (m *mistakes) err() error {
	if len(m.all) == 0 {
		return nil
	}
	slices.SortStableFunc(m.all, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return &MistakesError{m.all}
}

// suggestion is the words of a hint to the name that is most similar to a wrong one; "": none is similar.
func suggestion(wrong string, names []string) string {
	near := nearname.Near(wrong, names)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (perhaps %s?)", near[0])
}
