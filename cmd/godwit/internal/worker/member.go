package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/backoff"
)

const (
	// greeting is how long a worker has for its first line. An interpreter with many libraries needs seconds.
	greeting = 30 * time.Second
	// starts is how often a worker is started, one time after another, until the consumer stops with the error.
	starts = 3
	// answerBytes is the longest line of a worker.
	answerBytes = 1 << 20
)

// spacing is the pause before a worker starts that has ended without an answer.
func spacing() backoff.Curve {
	return backoff.Curve{First: 100 * time.Millisecond, Max: 10 * time.Second}
}

// member is one worker of a pool. Whoever has its turn may use it.
type member struct {
	o       *PoolOptions
	leaving *sync.WaitGroup // of the pool
	number  int
	serial  uint64 // of the last request
	idle    int    // how many processes have ended without an answer since the last answer

	p       *process // nil: none runs
	end     context.CancelFunc
	wait    func() error
	in, out *os.File // ends of pipes
	lines   *bufio.Reader
}

// start starts the process, and exchanges the first lines.
func (m *member) start(ctx context.Context) error {
	p := m.o.Command.prepare(m.o.Output)
	its, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, own, err := os.Pipe()
	if err != nil {
		return errors.Join(err, its.Close(), in.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout = its, own
	err = p.start()
	_, _ = its.Close(), own.Close() // the process has its own
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	m.p, m.end, m.wait = p, end, p.endWith(running)
	m.in, m.out, m.lines = in, out, bufio.NewReaderSize(out, answerBytes)
	first, err := json.Marshal(hello{
		Godwit: protocol, Channel: m.o.Channel, Worker: m.number, Workers: m.o.Workers, Timeout: m.o.Timeout.Seconds(),
	})
	if err != nil {
		return err
	}
	greeted, cancel := context.WithTimeout(ctx, min(greeting, m.o.Timeout/2))
	defer cancel()
	line, _, err := m.exchange(greeted, append(first, '\n'))
	if err != nil {
		return fmt.Errorf("worker %d has not begun: %w", m.number, err)
	}
	var w welcome
	if err := json.Unmarshal(line, &w); err == nil && w.Godwit == protocol && w.Ready {
		return nil
	}
	_ = m.discard()
	return fmt.Errorf("worker %d has not begun: its first line is %s, and must be {\"godwit\":%d,\"ready\":true}", m.number,
		shortened(line), protocol)
}

// ask sends a message, and returns the answer. After an error the process is gone, or is leaving and closes gone then.
func (m *member) ask(ctx context.Context, d *godwit.Delivery, body []byte) (a answer, gone <-chan struct{}, err error) {
	if err := m.ready(ctx); err != nil {
		return a, nil, err
	}
	m.serial++
	deadline, _ := ctx.Deadline()
	line, err := lineOf(d, body, m.serial, deadline)
	if err != nil {
		return a, nil, err
	}
	m.idle++
	got, gone, err := m.exchange(ctx, line)
	if err != nil {
		if ctx.Err() != nil {
			return a, gone, context.Cause(ctx)
		}
		m.o.Log.Warn("a worker ended; it is started again", "channel", m.o.Channel, "worker", m.number,
			"message", d.ID, "error", err)
		return a, nil, fmt.Errorf("worker %d: %w", m.number, err)
	}
	if a, err = readAnswer(got, m.serial); err != nil {
		gone = m.leave()
		m.o.Log.Warn("a worker's line is no answer; the worker is started again", "channel", m.o.Channel,
			"worker", m.number, "message", d.ID, "line", shortened(got), "error", err)
		return a, gone, fmt.Errorf("worker %d answered %s: %w", m.number, shortened(got), err)
	}
	m.idle = 0
	return a, nil, nil
}

// ready starts the process if none runs. A worker that cannot be started is no message's fault: the consumer stops, and
// its messages are released.
func (m *member) ready(ctx context.Context) error {
	for n := 1; m.p == nil; n++ {
		if m.idle+n > 2 {
			if err := backoff.Sleep(ctx, spacing().Wait(m.idle+n-2)); err != nil {
				return context.Cause(ctx)
			}
		}
		err := m.start(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n == starts:
			return godwit.Fatal(fmt.Errorf("%w (tried %d times)", err, n))
		default:
			m.o.Log.Warn("a worker could not be started; it is tried again", "channel", m.o.Channel, "error", err)
		}
	}
	return nil
}

// exchange writes a line and reads one. If that fails, the process is ended. If the context ends first, the process
// leaves: it is ended while another one may take its place, and gone is closed then.
func (m *member) exchange(ctx context.Context, line []byte) (answer []byte, gone <-chan struct{}, err error) {
	in, out, end := m.in, m.out, m.end
	release := context.AfterFunc(ctx, func() {
		end()
		_, _ = in.SetDeadline(time.Now()), out.SetDeadline(time.Now()) // the process may need a while to end
	})
	_, err = m.in.Write(line)
	if err == nil {
		answer, err = m.lines.ReadSlice('\n')
	}
	switch interrupted := !release(); {
	case interrupted:
		return nil, m.leave(), fmt.Errorf("it has not answered: %w", context.Cause(ctx))
	case err != nil:
		return nil, nil, m.broken(err, answer)
	}
	return answer, nil, nil
}

// broken ends the process after a failed exchange, and says why it failed.
func (m *member) broken(err error, half []byte) error {
	text := shortened(half)
	p := m.p
	ended := m.discard()
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("its line has more than %d bytes and begins with %s", answerBytes, text)
	}
	return fmt.Errorf("it ended without an answer: %w", p.reason(ended))
}

// leave ends the process, and does not wait for that: the next message gets a new one at once.
func (m *member) leave() (gone <-chan struct{}) {
	ended := make(chan struct{})
	in, out, end, wait := m.in, m.out, m.end, m.wait
	m.leaving.Go(func() {
		defer close(ended)
		_ = in.Close()
		end()
		_ = wait() // its message is over
		_ = out.Close()
	})
	m.p = nil
	return ended
}

// discard ends the process and waits for it.
func (m *member) discard() error {
	_ = m.in.Close() // a worker that waits for its next line ends by itself
	m.end()
	err := m.wait()
	_ = m.out.Close()
	m.p = nil
	return err
}

// stop ends the process in peace.
func (m *member) stop() {
	if m.p == nil {
		return
	}
	_ = m.in.Close()
	timer := time.AfterFunc(termination, m.end)
	defer timer.Stop()
	if err := m.wait(); err != nil && timer.Stop() {
		m.o.Log.Warn("a worker ended with an error", "channel", m.o.Channel, "worker", m.number,
			"error", m.p.reason(err))
	}
	m.end()
	_ = m.out.Close()
	m.p = nil
}

// shortened is a line in quotes, of at most a hundred bytes.
func shortened(line []byte) string {
	const most = 100
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
