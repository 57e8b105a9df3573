package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// trace is everything that happened, with the virtual time. The order of what happened at the same time is not defined.
type trace struct {
	begun time.Time
	mu    sync.Mutex
	lines []line
}

type line struct {
	at   time.Duration
	text string
}

func (l line) String() string { return fmt.Sprintf("%12v %s", l.at, l.text) }

func (t *trace) note(format string, args ...any) {
	l := line{time.Since(t.begun), fmt.Sprintf(format, args...)}
	t.mu.Lock()
	t.lines = append(t.lines, l)
	t.mu.Unlock()
}

// sum is a hash that is equal for two runs in which the same happened at the same times.
func (t *trace) sum() string {
	t.mu.Lock()
	lines := slices.Clone(t.lines)
	t.mu.Unlock()
	slices.SortFunc(lines, func(a, b line) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return strings.Compare(a.text, b.text)
	})
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintln(h, l)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// of returns the latest lines that contain one of some words.
func (t *trace) of(most int, words ...string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for i := len(t.lines) - 1; i >= 0 && len(out) < most; i-- {
		text := t.lines[i].String() + " "
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, " "+w+" ") }) {
			out = append(out, text)
		}
	}
	slices.Reverse(out)
	return out
}

// all returns the whole trace.
func (t *trace) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]string, len(t.lines))
	for i, l := range t.lines {
		out[i] = l.String()
	}
	return out
}
