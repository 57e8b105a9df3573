package screen

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
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
		"the `form` of the result: table, json or jsonl; json is one list, jsonl a line for each")
}

// Check refuses forms that there are not.
func (o Output) Check() error {
	switch o {
	case AsTable, AsJSON, AsJSONLines:
		return nil
	}
	return fmt.Errorf("--output is %q: use %s, %s or %s", string(o), AsTable, AsJSON, AsJSONLines)
}

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
// the direction of a text. In JSON the result means the same. Write may be called concurrently.
type Writer struct {
	To   io.Writer
	Gone func() // is called when nobody reads any more; nil: nothing is

	mu   sync.Mutex
	rest []byte // of a character whose end has not come
}

func (s *Writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
