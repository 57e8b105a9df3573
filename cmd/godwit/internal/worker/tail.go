package worker

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// reasonBytes is how much of a process's errors becomes the reason of a dead letter.
const reasonBytes = 4 << 10

// tail passes on what a process writes to its standard error, and keeps the end of it.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, p...)
	if n := len(t.last) - reasonBytes; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
	t.mu.Unlock()
	return t.to.Write(p)
}

// String returns the end as a text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "�"))
}

// Lines is a writer for several processes that share an output: each line reaches it whole.
type Lines struct {
	To io.Writer
	mu sync.Mutex
}

// Write passes on whole lines.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.To.Write(p)
}

// lineBytes is the longest line that is kept together.
const lineBytes = 64 << 10

// line is the writer of one process. A goroutine that outlives the process may still write.
type line struct {
	of *Lines

	mu   sync.Mutex
	rest []byte
}

func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) >= lineBytes {
		end = len(l.rest)
	}
	l.pass(end)
	return len(p), nil
}

// flush ends a line that the process has not ended.
func (l *line) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.rest = append(l.rest, '\n')
		l.pass(len(l.rest))
	}
}

func (l *line) pass(n int) {
	if n == 0 {
		return
	}
	_, _ = l.of.Write(l.rest[:n]) // a process is not stopped because its output cannot be written
	l.rest = append(l.rest[:0], l.rest[n:]...)
}
