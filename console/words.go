package console

import (
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/godwitmq/godwit/console/internal/chart"
)

// newPages reads the templates.
func newPages(c *Console) (*template.Template, error) {
	pages, err := fs.Sub(assets, "pages")
	if err != nil {
		return nil, err
	}
	return template.New("").Funcs(template.FuncMap{
		"url": c.url, "count": count, "rate": rate, "span": span, "size": size, "plain": chart.Plain, "stamp": stamp,
		"clock": clock, "plural": plural, "percent": percent, "title": title, "age": age, "dollars": dollars,
		"took":     took,
		"count64":  func(n int) string { return count(int64(n)) },
		"size64":   func(n int) string { return size(int64(n)) },
		"plural64": func(n int, one string) string { return plural(int64(n), one) },
	}).ParseFS(pages, "*.html")
}

// unknown is how a value is written that nobody knows.
const unknown = "–"

// count is a number of messages with spaces between thousands.
func count(n int64) string {
	if n < 0 {
		return unknown
	}
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u2009')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// rate is a number a second.
func rate(v float64) string {
	switch {
	case v < 0 || math.IsNaN(v):
		return unknown
	case v == 0:
		return "0"
	case v < 0.01:
		return "<0.01"
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return count(int64(math.Round(v)))
}

// span is a time in one or two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return unknown
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		if s := d % time.Minute / time.Second; s > 0 && d < 10*time.Minute {
			return fmt.Sprintf("%d min %d s", d/time.Minute, s)
		}
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		if m := d % time.Hour / time.Minute; m > 0 {
			return fmt.Sprintf("%d h %d min", d/time.Hour, m)
		}
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	if h := d % (24 * time.Hour) / time.Hour; h > 0 && d < 10*24*time.Hour {
		return fmt.Sprintf("%d d %d h", d/(24*time.Hour), h)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// age is how long ago a time is.
func age(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return span(max(0, time.Since(t)))
}

// size is a number of bytes.
func size(n int64) string {
	switch {
	case n < 0:
		return unknown
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// stamp is a time in UTC, to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// clock is the time of day in UTC.
func clock(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("15:04:05")
}

// plural is a number with its noun.
func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// percent is a part of a whole, for the width of a bar.
func percent(part, whole int64) int64 {
	if whole <= 0 || part < 0 {
		return 0
	}
	return min(100, part*100/whole)
}

// title begins a text with a capital letter.
func title(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// dollars is an amount of money.
func dollars(v float64) string {
	switch {
	case v < 0 || math.IsNaN(v):
		return unknown
	case v > 0 && v < 0.01:
		return "<$0.01"
	case v < 1000:
		return fmt.Sprintf("$%.2f", v)
	}
	return "$" + count(int64(math.Round(v)))
}

// took is the time of a handler.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return unknown
	case d < time.Millisecond:
		return "<1 ms"
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	return span(d)
}
