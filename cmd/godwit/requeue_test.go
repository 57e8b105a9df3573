package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// letters is a channel on a server of AWS, with dead letters in it.
type letters struct {
	*testing.T
	server  *localaws.Server
	backend *snssqs.Backend
	ch      driver.Channel
	body    map[string]string // of each message of the dead letters, by its id
}

// newLetters puts n dead letters into a channel. The keys of an ordered one are a, b and c.
func newLetters(t *testing.T, ch driver.Channel, n int) *letters {
	t.Helper()
	l := &letters{T: t, server: onServer(t), ch: ch, body: map[string]string{}}
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	l.backend = b
	s := driver.ChannelSpec{Channel: ch, Owner: true, MaxReceives: 100}
	if ch.Queue == "plain" {
		s.MaxReceives = 0 // so SQS does not know its dead letters
	}
	if err := b.Ensure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	dead := ch
	dead.DeadLetter = true
	to, err := b.Sender(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		body := fmt.Sprintf(`{"n": %d}`, i)
		p, err := to.Prepare(t.Context(), &driver.Message{OrderKey: string(rune('a' + i%3)), Body: []byte(body)})
		p.Receipt = &driver.Receipt{}
		if err == nil {
			err = to.Send(t.Context(), []driver.Prepared{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		l.body[p.Receipt.ID] = body
	}
	return l
}

// take finishes all messages of the channel, and returns how often each body came. Keys must be in order.
func (l *letters) take() map[string]int {
	l.Helper()
	r, err := l.backend.Receiver(l.Context(), l.ch, driver.ReceiverOptions{Concurrency: 10})
	if err != nil {
		l.Fatal(err)
	}
	times, last := map[string]int{}, map[string]int{}
	for empty := 0; empty < 3; {
		ds, err := r.Receive(l.Context(), driver.Ask{Max: 10}, nil)
		if err != nil {
			l.Fatal(err)
		}
		empty++
		var batch []driver.Settlement
		for i := range ds {
			empty = 0
			n := -1
			_, _ = fmt.Sscanf(string(ds[i].Body), `{"n": %d}`, &n)
			if before, ok := last[ds[i].OrderKey]; ok && l.ch.Ordered && n <= before && times[string(ds[i].Body)] == 0 {
				l.Errorf("key %s: %d came after %d", ds[i].OrderKey, n, before)
			}
			last[ds[i].OrderKey] = n
			times[string(ds[i].Body)]++
			batch = append(batch, driver.Settlement{Handle: ds[i].Handle})
		}
		if err := r.Settle(l.Context(), batch); err != nil && len(batch) > 0 {
			l.Fatal(err)
		}
	}
	return times
}

// command runs the command in this process, and returns its output and errors.
func (l *letters) command(status int, args ...string) (out, errOut string) {
	l.Helper()
	var o, e bytes.Buffer
	if got := run(l.Context(), args, &o, &e); got != status {
		l.Fatalf("%q: status %d, want %d: %s", args, got, status, &e)
	}
	return o.String(), e.String()
}

// The command first says what would happen, and does it with --yes.
func TestRequeue(t *testing.T) {
	if apart(t) {
		return
	}
	l := newLetters(t, driver.Channel{Queue: "orders"}, 30)
	journal := filepath.Join(t.TempDir(), "journal")
	args := []string{
		"requeue", "orders@dlq", "--body", ".n < 20", "--edit", "if .n == 7 then .n = 77 else . end",
		"--journal", journal, "-o", "json",
	}
	_, errOut := l.command(exitDone, args...)
	if !strings.Contains(errOut, "nothing was sent: 20 messages would go to") {
		t.Errorf("%s", errOut)
	}
	out, _ := l.command(exitDone, append(args, "--yes")...)
	var results []requeued
	if err := json.Unmarshal([]byte(out), &results); err != nil || len(results) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if r := results[0]; r.Moved != 20 || r.Edited != 1 || r.Stay["not_selected"] != 10 || !r.Done || r.To != "orders" {
		t.Errorf("%+v", r)
	}
	times := l.take()
	if len(times) != 20 || times[`{"n":77}`] != 1 || times[`{"n": 6}`] != 1 {
		t.Errorf("%v", times)
	}
	if _, err := os.Stat(journal); !os.IsNotExist(err) {
		t.Errorf("the journal of a complete run is still there: %v", err)
	}
}

// Where nothing has to be looked at, SQS moves the messages by itself, and the command shows the task. Where it
// refuses, Godwit does it.
func TestRequeueByTheService(t *testing.T) {
	if apart(t) {
		return
	}
	for queue, moved := range map[string]bool{"orders": true, "plain": false} {
		l := newLetters(t, driver.Channel{Queue: queue}, 30)
		_, errOut := l.command(exitDone, "requeue", queue+"@dlq", "--to", queue, "--max-deaths", "-1", "--yes",
			"--journal", filepath.Join(t.TempDir(), "journal"))
		if strings.Contains(errOut, "the service moved them itself") != moved ||
			strings.Contains(errOut, "COMPLETED") != moved {
			t.Errorf("%s: %s", queue, errOut)
		}
		if got := len(l.take()); got != 30 {
			t.Errorf("%s: %d messages are back", queue, got)
		}
	}
}

// A requeue that is killed at fifty places, before and after a call took effect, loses nothing. What is doubled is
// named in the journal; on an ordered queue, keys keep their order.
func TestRequeueIsKilled(t *testing.T) {
	if apart(t) {
		return
	}
	for _, ch := range []driver.Channel{{Queue: "orders"}, {Queue: "queued", Ordered: true}} {
		t.Run(ch.Queue, func(t *testing.T) {
			messages, kills := fullrun.Pick(900, 3000), fullrun.Pick(12, 50)
			l := newLetters(t, ch, messages)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			journal := filepath.Join(t.TempDir(), "journal")
			killed := 0
			for {
				at := place{action: "none"}
				if killed < kills {
					actions := []string{"SendMessageBatch", "SendMessageBatch", "DeleteMessageBatch", "ReceiveMessage"}
					at = place{actions[random.IntN(len(actions))], 1 + random.Int64N(6), random.IntN(2) == 0}
				}
				if !l.runAndKill(at, journal) {
					killed++
				} else if l.left() == 0 {
					break
				}
				l.server.Advance(20 * time.Minute) // what the process held, or its last poll took, is visible again
			}
			if killed < kills {
				t.Errorf("it was killed %d times only", killed)
			}
			named := namedBy(t, journal)
			times := l.take()
			doubled := 0
			for id, body := range l.body {
				if times[body] > 1 {
					doubled++
				}
				if n := times[body]; n == 0 || n > 1 && !named[id] {
					t.Errorf("%s is there %d times, and named as doubled: %v", body, n, named[id])
				}
			}
			t.Logf("killed %d times: %d doubled, %d named", killed, doubled, len(named))
		})
	}
}

// left returns how many dead letters there are.
func (l *letters) left() int64 {
	l.Helper()
	dead := l.ch
	dead.DeadLetter = true
	d, err := l.backend.Inspect(l.Context(), dead)
	if err != nil {
		l.Fatal(err)
	}
	return d.Waiting + d.InFlight + d.Delayed
}

// place is a call at which a process is killed: the n-th of an action, which takes effect or not.
type place struct {
	action string
	n      int64
	effect bool
}

func (l *letters) runAndKill(at place, journal string) (ended bool) {
	l.Helper()
	return runAndKill(l.T, l.server, at, "requeue", l.ch.String()+"@dlq", "--yes", "--journal", journal)
}

// runAndKill runs the command in a process of its own, and kills it. It reports whether the process ended by itself
// before.
func runAndKill(t *testing.T, server *localaws.Server, at place, args ...string) (ended bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAsCommand+"=1")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	var calls atomic.Int64
	reached := make(chan struct{})
	var once sync.Once
	remove := server.Control("sqs."+at.action, func(context.Context, *localaws.Request) localaws.Outcome {
		if calls.Add(1) < at.n {
			return localaws.Outcome{}
		}
		once.Do(func() { close(reached) })
		return localaws.Outcome{Drop: !at.effect, Strand: at.effect}
	})
	defer remove()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ends := make(chan error, 1)
	go func() { ends <- cmd.Wait() }()
	var err error
	select {
	case <-reached:
		_ = cmd.Process.Kill() // unless it has just ended
		err = <-ends
	case err = <-ends:
	}
	// A poll of the process before, whose end the server has not noticed, may hold messages: then the command says so.
	if err == nil || cmd.ProcessState.ExitCode() == exitPart && strings.Contains(errOut.String(), "come back in 1m0s") {
		return true
	}
	if cmd.ProcessState.ExitCode() != -1 { // it ended by itself
		t.Fatalf("%v: %s", err, &errOut)
	}
	return false
}

// namedBy returns the ids that a journal names as perhaps doubled.
func namedBy(t *testing.T, journal string) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	f, err := os.Open(journal)
	if os.IsNotExist(err) {
		return named
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l struct{ Doubled []string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		for _, id := range l.Doubled {
			named[id] = true
		}
	}
	return named
}

// A peek shows messages; an export and an import are the same messages, types and all.
func TestPeekExportImport(t *testing.T) {
	if apart(t) {
		return
	}
	l := newLetters(t, driver.Channel{Queue: "orders"}, 30)
	out, _ := l.command(exitDone, "peek", "orders@dlq", "-n", "3", "--receive")
	if strings.Count(out, `"n": `) != 3 {
		t.Errorf("%s", out)
	}
	for _, form := range []string{"--groups", "--groups=exact"} {
		out, _ = l.command(exitDone, "peek", "orders@dlq", form, "--receive")
		if !regexp.MustCompile(`(?m)^ +30 .* unknown`).MatchString(out) {
			t.Errorf("%s: %s", form, out)
		}
	}
	_, wrong := l.command(exitUsage, "peek", "orders@dlq", "--groups=color")
	if !strings.Contains(wrong, "--groups=exact") {
		t.Errorf("%s", wrong)
	}
	if out, _ = l.command(exitNothing, "requeue", "orders@dlq", "--group", "00000000"); !strings.Contains(out, "30") {
		t.Errorf("%s", out)
	}
	if _, errOut := l.command(exitPart, "requeue", "orders@dlq", "--edit", ".n.typo"); !strings.Contains(errOut,
		"all 30 selected messages were refused") {
		t.Errorf("%s", errOut)
	}
	if _, errOut := l.command(exitDone, "requeue", "orders@dlq", "--edit", ".n += 1000"); !regexp.MustCompile(
		`(?s)would be changed\s+from \{"n": ?\d.*to +\{"n": ?1\d\d\d`).MatchString(errOut) {
		t.Errorf("%s", errOut)
	}
	file := filepath.Join(t.TempDir(), "letters.jsonl")
	l.command(exitDone, "export", "orders@dlq", "--receive", "--file", file)
	_, errOut := l.command(exitFailed, "export", "orders@dlq", "--receive", "--file", file)
	if !strings.Contains(errOut, "file exists") {
		t.Errorf("%s", errOut)
	}
	if _, errOut := l.command(exitDone, "import", "orders", "--file", file, "--revive"); !strings.Contains(errOut,
		"30 messages are good for orders") {
		t.Errorf("%s", errOut)
	}
	l.command(exitDone, "import", "orders", "--file", file, "--revive", "--yes")
	if got := l.take(); len(got) != len(l.body) {
		t.Errorf("%d of %d messages", len(got), len(l.body))
	}
}
