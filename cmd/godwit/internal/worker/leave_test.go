package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// A worker whose message is over, and that takes its time to end, keeps no other message waiting: another process has
// its place at once. A message of an ordered channel keeps its lane until the process has ended.
func TestLeavingWorker(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, err := NewCommand(path + " worker")
	if err != nil {
		t.Fatal(err)
	}
	command.patience = time.Hour // the process ignores the request to end
	for _, ordered := range []bool{false, true} {
		hangs := make(chan int, 1)
		p, err := NewPool(t.Context(), PoolOptions{
			Command: command, Workers: 1, Channel: "orders", Timeout: time.Minute, Ordered: ordered,
			Backoff: func(int) time.Duration { return time.Second }, Output: &Lines{To: told{hangs}},
		})
		if err != nil {
			t.Fatal(err)
		}
		handle := func(ctx context.Context, body string) error {
			return p.Handle(ctx, &godwit.Delivery{ID: body, Channel: "orders", Body: []byte(body), Attempt: 1})
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan error, 1)
		go func() { over <- handle(ctx, "hang") }()
		pid := <-hangs
		cancel(godwit.ErrProcessingTimeout)
		timedOut := func() {
			if err := <-over; !errors.Is(err, godwit.ErrProcessingTimeout) {
				t.Errorf("ordered %v: %v", ordered, err)
			}
		}
		if !ordered {
			timedOut()
		}
		if err := handle(t.Context(), "done"); err != nil {
			t.Errorf("ordered %v: the next message: %v", ordered, err)
		}
		if len(over) > 0 {
			t.Errorf("the message is over, and its process is not")
		}
		if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
			t.Fatalf("the process %d cannot be ended: %v", pid, err)
		}
		if ordered {
			timedOut()
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// told gets the id of a process that prints it behind a word.
type told struct{ pids chan int }

func (w told) Write(p []byte) (int, error) {
	var pid int
	if _, err := fmt.Sscanf(string(p), "hangs %d", &pid); err == nil {
		w.pids <- pid
	}
	return len(p), nil
}
