package worker

import (
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

// errNotBegun is the error of a message that waited behind others for a worker, which has not begun with it and never
// will.
var errNotBegun = errors.New("the worker has not begun with the message")

// member is one worker of a pool: its process, and after that has ended, the next one.
type member struct {
	o       *PoolOptions
	window  *window
	leaving *sync.WaitGroup // of the pool
	number  int

	mu   sync.Mutex
	l    *link // to its latest process; nil: there was none
	idle int   // how many processes have ended without an answer since the last answer
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
	l := &link{m: m, p: p, end: end, wait: p.endWith(running), in: in, out: out}
	first, err := json.Marshal(hello{
		Godwit: protocol, Channel: m.o.Channel, Worker: m.number, Workers: m.o.Workers, Timeout: m.o.Timeout.Seconds(),
	})
	if err != nil {
		return errors.Join(err, l.discard())
	}
	greeted, cancel := context.WithTimeout(ctx, min(greeting, m.o.Timeout/2))
	defer cancel()
	line, err := l.greet(greeted, append(first, '\n'))
	if err != nil {
		return fmt.Errorf("worker %d has not begun: %w", m.number, err)
	}
	var w welcome
	if err := json.Unmarshal(line, &w); err != nil || w.Godwit != protocol || !w.Ready {
		_ = l.discard()
		return fmt.Errorf("worker %d has not begun: its first line is %s, and must be {\"godwit\":%d,\"ready\":true}",
			m.number, shortened(line), protocol)
	}
	l.ahead = w.Ahead && canLookAhead
	m.mu.Lock()
	m.l = l
	m.mu.Unlock()
	m.leaving.Go(l.read)
	return nil
}

// latest is the link to the latest process.
func (m *member) latest() *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.l
}

// ask sends a message, and returns the answer. It starts a process if none runs and the message is the first of the
// worker. Otherwise the message may wait behind others for the worker, and the error is errNotBegun if it has waited
// for nothing. If gone is not nil, the process no longer has the message when gone is closed.
func (m *member) ask(ctx context.Context, d *godwit.Delivery, body []byte, first bool) (
	a answer, gone <-chan struct{}, err error,
) {
	deadline, _ := ctx.Deadline()
	line, err := lineOf(d, body, deadline)
	if err != nil {
		return a, nil, err
	}
	x := &ask{id: d.ID, done: make(chan result, 1)}
	for {
		l := m.latest()
		if l.send(ctx, x, line) {
			r := l.await(ctx, x)
			if r.err != nil && ctx.Err() != nil && !errors.Is(r.err, errNotBegun) {
				r.err = context.Cause(ctx)
			}
			return r.answer, r.gone, r.err
		}
		if l.runs() || !first {
			return a, nil, errNotBegun
		}
		if err := m.ready(ctx); err != nil {
			return a, nil, err
		}
	}
}

// ready starts another process after one that has ended. A worker that cannot be started is no message's fault: the
// consumer stops, and its messages are released.
func (m *member) ready(ctx context.Context) error {
	m.mu.Lock()
	idle := m.idle
	m.mu.Unlock()
	for n := 1; ; n++ {
		if idle+n > 2 {
			if err := backoff.Sleep(ctx, spacing().Wait(idle+n-2)); err != nil {
				return context.Cause(ctx)
			}
		}
		err := m.start(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n == starts:
			return godwit.Fatal(fmt.Errorf("%w (tried %d times)", err, n))
		default:
			m.o.Log.Warn("a worker could not be started; it is tried again", "channel", m.o.Channel, "error", err)
		}
	}
}

// ended counts a process that has ended, and whether it has answered before.
func (m *member) ended(answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if answered {
		m.idle = 0
	}
	m.idle++
}

// stop ends the process in peace.
func (m *member) stop() {
	if l := m.latest(); l != nil {
		l.stop()
	}
}

// shortened is a line in quotes, of at most a hundred bytes.
func shortened(line []byte) string {
	const most = 100
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
