package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// link is a running process of a worker, with the messages that it has. It handles them in their order, one at a time:
// the first one is being handled, and the others wait.
type link struct {
	m       *member
	ahead   bool // messages may wait for it
	p       *process
	end     context.CancelFunc
	wait    func() error
	in, out *os.File // ends of pipes

	// rest is what the reader has read: the beginning of a line.
	rest []byte

	mu       sync.Mutex
	asks     []*ask // without an answer
	serial   uint64 // of the last one
	bytes    int    // of them
	lines    []byte // that are written next
	spare    []byte // memory for the next ones
	writes   bool   // somebody writes, and writes these lines, too
	begun    time.Time
	answered bool
	checks   bool          // it will be checked whether messages wait for too long
	gone     chan struct{} // nil: it runs; closed when it has ended
}

// ask is a message that a process has.
type ask struct {
	id      string
	serial  uint64
	bytes   int
	beginBy time.Time   // zero: nothing was before it
	given   bool        // it has its result; the worker will release it
	over    bool        // its context has ended
	done    chan result // holds one
	ctx     context.Context
}

// result is what became of a message.
type result struct {
	answer answer
	gone   <-chan struct{}
	err    error
}

func (x *ask) give(r result) {
	if !x.given {
		x.given = true
		x.done <- r
	}
}

// greet writes the first line and reads the first one of the process. If that fails, the process is ended.
func (l *link) greet(ctx context.Context, line []byte) ([]byte, error) {
	release := context.AfterFunc(ctx, func() {
		l.end()
		_, _ = l.in.SetDeadline(time.Now()), l.out.SetDeadline(time.Now()) // the process may need a while to end
	})
	_, err := l.in.Write(line)
	var first []byte
	for err == nil && first == nil {
		err = l.fill(l.out.Read)
		first = l.next()
	}
	if release() && err == nil {
		return first, nil
	}
	half := shortened(l.rest)
	ended := l.discard()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it has not answered: %w", context.Cause(ctx))
	case errors.Is(err, errTooLong):
		return nil, fmt.Errorf("%w and begins with %s", err, half)
	}
	return nil, fmt.Errorf("it ended without an answer: %w", l.p.reason(ended))
}

var errTooLong = fmt.Errorf("its line has more than %d bytes", answerBytes)

// fill reads once.
func (l *link) fill(read func(p []byte) (int, error)) error {
	const room = 16 << 10
	if cap(l.rest)-len(l.rest) < room {
		l.rest = append(make([]byte, 0, 2*len(l.rest)+2*room), l.rest...)
	}
	n, err := read(l.rest[len(l.rest):cap(l.rest)])
	l.rest = l.rest[:len(l.rest)+n]
	if n == 0 && err != nil {
		return err
	}
	if len(l.rest) > answerBytes && bytes.IndexByte(l.rest, '\n') < 0 {
		return errTooLong
	}
	return nil
}

// next returns the next line that was read; nil: there is none.
func (l *link) next() []byte {
	end := bytes.IndexByte(l.rest, '\n')
	if end < 0 {
		return nil
	}
	line := l.rest[:end+1]
	l.rest = l.rest[end+1:]
	return line
}

// send sends a message, and reports whether it did. It does not if the process has ended, or has others and takes no
// more.
func (l *link) send(ctx context.Context, x *ask, line []byte) (sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	x.beginBy = time.Time{}
	if l.first() != nil {
		if !l.ahead {
			return false
		}
		x.beginBy = now.Add(l.m.window.begin)
	}
	if l.gone != nil {
		return false
	}
	if x.bytes = len(line); !x.beginBy.IsZero() && l.bytes+x.bytes > aheadBytes {
		return false
	}
	l.serial++
	x.serial, x.ctx = l.serial, ctx
	if len(l.asks) == 0 {
		l.begun = now
	}
	l.asks, l.bytes, l.lines = append(l.asks, x), l.bytes+x.bytes, appendRequest(l.lines, x.serial, x.beginBy, line)
	if !x.beginBy.IsZero() {
		l.check()
	}
	if !l.writes {
		l.write(x)
	}
	return true
}

// runs reports whether the process has not ended.
func (l *link) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone == nil
}

// write writes the lines that are to be written, also those that are added meanwhile. Unless x waits behind others, it
// may be a line that is longer than the pipe: then the end of its context ends the wait for the worker.
func (l *link) write(x *ask) {
	if x.bytes > aheadBytes {
		defer context.AfterFunc(x.ctx, func() { l.interrupt(x) })()
	}
	l.writes = true
	defer func() { l.writes = false }()
	for len(l.lines) > 0 && l.gone == nil {
		if len(l.asks) > 1 { // others are about to add theirs
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		lines := l.lines
		l.lines = l.spare[:0]
		l.mu.Unlock()
		_, err := l.in.Write(lines)
		l.mu.Lock()
		l.spare = lines
		if err != nil { // the process has ended, or has closed its input: the reader sees its end
			l.end()
			return
		}
	}
	if cap(l.spare) > 2*aheadBytes {
		l.spare = nil
	}
}

// first is the message that is being handled; nil: there is none.
func (l *link) first() *ask {
	for _, x := range l.asks {
		if !x.given {
			return x
		}
	}
	return nil
}

// await waits for what becomes of a message. A message whose context ends ends the process that handles it.
func (l *link) await(ctx context.Context, x *ask) result {
	select {
	case r := <-x.done:
		return r
	case <-ctx.Done():
	}
	l.interrupt(x)
	return <-x.done
}

// interrupt ends the process if it handles a message whose context has ended. A message that still waits for the
// process gets its result soon.
func (l *link) interrupt(x *ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.over = true
	if l.gone == nil && l.first() == x {
		l.leave(context.Cause(x.ctx))
	}
}

// read reads answers until the process ends.
func (l *link) read() {
	var err error
	for err == nil {
		err = l.fill(l.out.Read)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = l.overdue()
		case err == nil:
			l.answers()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone != nil {
		return
	}
	l.gone = make(chan struct{})
	defer close(l.gone)
	l.mu.Unlock()
	half := shortened(l.rest)
	ended := l.discard()
	l.mu.Lock()
	if errors.Is(err, errTooLong) {
		err = fmt.Errorf("worker %d: %w and begins with %s", l.m.number, err, half)
	} else {
		err = fmt.Errorf("worker %d: it ended without an answer: %w", l.m.number, l.p.reason(ended))
	}
	id := ""
	if x := l.first(); x != nil && !x.over {
		id = x.id
	}
	l.m.o.Log.Warn("a worker ended; it is started again", "channel", l.m.o.Channel, "worker", l.m.number, "message", id,
		"error", err)
	l.giveAll(err)
}

// answers handles the lines that were read. After a wrong one the process is ended, and the next read fails.
func (l *link) answers() {
	now := time.Now()
	l.mu.Lock()
	n, size := 0, l.bytes
	for l.gone == nil {
		line := l.next()
		if line == nil {
			break
		}
		if err := l.answer(line, now); err != nil {
			l.m.o.Log.Warn("a worker's line is no answer; the worker is started again", "channel", l.m.o.Channel,
				"worker", l.m.number, "line", shortened(line), "error", err)
			l.leave(fmt.Errorf("worker %d answered %s: %w", l.m.number, shortened(line), err))
			break
		}
		n++
	}
	took := now.Sub(l.begun)
	l.begun = now
	if x := l.first(); x != nil && x.over && l.gone == nil {
		l.leave(context.Cause(x.ctx))
	}
	size -= l.bytes
	l.mu.Unlock()
	if n > 0 {
		l.m.window.answered(n, max(took, 0), size)
	}
}

// answer gives the first message its answer.
func (l *link) answer(line []byte, now time.Time) error {
	if len(l.asks) == 0 {
		return errors.New("it has no message")
	}
	x := l.asks[0]
	a, err := readAnswer(line, x.serial)
	if err != nil {
		return err
	}
	switch released := a.Action == actionRelease; {
	case released && (x.beginBy.IsZero() || now.Before(x.beginBy)):
		return errors.New("it releases a message that it may begin")
	case released:
		x.give(result{err: errNotBegun})
	case x.given:
		l.m.o.Log.Warn("a worker has begun a message after its begin_by; another one may have handled it, too", "channel",
			l.m.o.Channel, "worker", l.m.number, "message", x.id)
	default:
		x.give(result{answer: a})
	}
	l.answered = true
	l.bytes -= x.bytes
	l.asks = slices.Delete(l.asks, 0, 1)
	return nil
}

// check sees to it that messages do not wait for long behind one that takes longer than expected.
func (l *link) check() {
	if l.checks {
		return
	}
	l.checks = true
	time.AfterFunc(l.m.window.begin, func() { _ = l.out.SetReadDeadline(time.Now()) }) // the reader calls overdue
}

// overdue takes the messages back whose time to begin is over. The process has not begun them if it has not answered
// the first one, and then it never will. So it matters that no answer is unread.
func (l *link) overdue() error {
	if err := l.out.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	now := time.Now()
	for {
		err := l.fill(func(p []byte) (int, error) { return readNow(l.out, p) })
		if errors.Is(err, errNothing) {
			break
		}
		if err != nil {
			return err
		}
		l.answers()
	}
	missed := false
	l.mu.Lock()
	l.checks = false
	for i, x := range l.asks {
		if i > 0 && !x.given && x != l.first() && !now.Before(x.beginBy) {
			missed = true
			x.give(result{err: errNotBegun})
		}
	}
	switch {
	case l.gone != nil || len(l.asks) == 0:
	case l.asks[0].given && now.Sub(l.asks[0].beginBy) > l.m.o.Timeout: // it has begun it, and does not end
		l.leave(errNotBegun)
	case len(l.asks) > 1 || l.asks[0].given:
		l.check()
	}
	l.mu.Unlock()
	if missed {
		l.m.window.missed()
	}
	return nil
}

// leave ends the process, and does not wait for that: the next message gets a new one at once. The error is that of the
// message that the process handles. The caller holds the lock.
func (l *link) leave(err error) {
	l.gone = make(chan struct{})
	l.giveAll(err)
	l.m.leaving.Go(func() {
		defer close(l.gone)
		_ = l.discard() // its message is over
	})
}

// giveAll gives all messages their results when the process has no future. The caller holds the lock.
func (l *link) giveAll(err error) {
	if first := l.first(); first != nil {
		first.give(result{err: err, gone: l.gone})
	}
	for _, x := range l.asks {
		x.give(result{err: errNotBegun, gone: l.gone})
	}
	l.asks = nil
	l.m.ended(l.answered)
}

// discard ends the process and waits for it.
func (l *link) discard() error {
	_ = l.in.Close() // a worker that waits for its next line ends by itself
	l.end()
	err := l.wait()
	_ = l.out.Close()
	return err
}

// stop ends the process in peace.
func (l *link) stop() {
	l.mu.Lock()
	running := l.gone == nil
	if running {
		l.gone = make(chan struct{})
		defer close(l.gone)
	}
	l.mu.Unlock()
	if !running {
		return
	}
	_ = l.in.Close()
	timer := time.AfterFunc(termination, l.end)
	defer timer.Stop()
	if err := l.wait(); err != nil && timer.Stop() {
		l.m.o.Log.Warn("a worker ended with an error", "channel", l.m.o.Channel, "worker", l.m.number,
			"error", l.p.reason(err))
	}
	l.end()
	_ = l.out.Close()
}
