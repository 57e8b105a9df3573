package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/godwitmq/godwit"
)

// The exit statuses that decide by themselves, as sysexits.h names them. All others but 0 are failures, about which the
// consumer's policy decides.
const (
	statusDataErr  = 65 // the message is wrong: it is rejected
	statusTempFail = 75 // try again later
)

// Exec handles each message in a process of its own. The body is its standard input.
type Exec struct {
	Command Command
	Backoff godwit.Backoff // after status 75
	Output  *Lines         // what processes print
	// Ordered is that of the consumer: a message whose time is over then keeps its lane until its process has ended, so
	// that the next one of its key does not run beside it.
	Ordered bool

	leaving sync.WaitGroup // processes whose messages are over
}

// Close waits for the processes that have been told to end, when no Handle runs any more.
func (e *Exec) Close() error {
	e.leaving.Wait()
	return nil
}

// Handle runs the process for a message.
func (e *Exec) Handle(ctx context.Context, d *godwit.Delivery) error {
	body, err := d.Open(ctx)
	if err != nil {
		return err
	}
	read := &errorReader{r: body}
	env, err := variables(ctx, d)
	if err != nil {
		return errors.Join(err, body.Close())
	}
	p := e.Command.prepare(e.Output)
	p.cmd.Env, p.cmd.Stdin = append(p.cmd.Environ(), env...), read
	if err := p.start(); err != nil {
		_ = body.Close()                   // it was only read
		if errors.Is(err, syscall.E2BIG) { // Linux takes 128 KiB a variable
			return godwit.Permanent(fmt.Errorf("its headers are too long for environment variables: use --worker or "+
				"--http for this channel: %w", err))
		}
		return godwit.Fatal(err) // the program is gone, or the machine has no room: no message is to blame
	}
	wait, ended := p.endWith(ctx), make(chan error, 1)
	e.leaving.Go(func() {
		err := wait()
		_ = body.Close()
		ended <- err
	})
	over := ctx.Done()
	if e.Ordered {
		over = nil
	}
	select {
	case err = <-ended:
	case <-over: // the process may need a while to end
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed := read.err.Load(); failed != nil { // the process may have taken half of a body for all of it
		return *failed
	}
	if errors.Is(err, exec.ErrWaitDelay) { // the process itself has ended with status 0
		err = nil
	}
	status, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case status == nil:
		return p.reason(err)
	case status.ExitCode() == statusDataErr:
		return godwit.Permanent(p.reason(err))
	case status.ExitCode() == statusTempFail:
		return d.Retry(e.Backoff(d.Attempt))
	}
	return p.reason(err)
}

// variables describe a message to the process that handles it.
func variables(ctx context.Context, d *godwit.Delivery) ([]string, error) {
	headers, err := json.Marshal(headersOf(d))
	if err != nil {
		return nil, err
	}
	env := []string{
		"GODWIT_CHANNEL=" + d.Channel, "GODWIT_ID=" + d.ID, "GODWIT_ATTEMPT=" + strconv.Itoa(d.Attempt),
		"GODWIT_ORDER_KEY=" + keyOf(d), "GODWIT_ROUTING_KEY=" + d.RoutingKey,
		"GODWIT_CONTENT_TYPE=" + d.ContentType, "GODWIT_TYPE=" + d.Type,
		"GODWIT_VERSION=" + strconv.Itoa(d.Version), "GODWIT_HEADERS=" + string(headers),
	}
	if !d.SentAt.IsZero() {
		env = append(env, "GODWIT_SENT="+d.SentAt.UTC().Format(time.RFC3339Nano))
	}
	if at, ok := ctx.Deadline(); ok {
		env = append(env, "GODWIT_DEADLINE="+at.UTC().Format(time.RFC3339Nano))
	}
	for _, one := range env {
		if name, value, _ := strings.Cut(one, "="); strings.Contains(value, "\x00") {
			return nil, godwit.Permanent(fmt.Errorf("%s would have a zero byte, which no environment variable can hold: "+
				"use --worker or --http for this channel", name))
		}
	}
	return env, nil
}

// errorReader keeps the error of a body. It is read by a goroutine that may outlive the process.
type errorReader struct {
	r   io.Reader
	err atomic.Pointer[error]
}

func (e *errorReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		e.err.Store(&err)
	}
	return n, err
}
