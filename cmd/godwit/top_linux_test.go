package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/godwitmq/godwit"
)

// terminal is a pseudo-terminal with the command in it.
type terminal struct {
	*testing.T
	screen *os.File
	cmd    *exec.Cmd
	seen   string // since the last key
}

// onTerminal runs the command in a terminal of some columns.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) *terminal {
	t.Helper()
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	control := func(request uintptr, of unsafe.Pointer) {
		t.Helper()
		if _, _, wrong := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(of)); wrong != 0 {
			t.Fatal(wrong)
		}
	}
	unlocked, number := int32(0), uint32(0)
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{12, columns}))
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	term := &terminal{T: t, screen: os.NewFile(uintptr(fd), "/dev/ptmx")}
	term.cmd = exec.Command(os.Args[0], args...)
	term.cmd.Env = append(append(os.Environ(), actAsCommand+"=1", "TERM=xterm-256color", "LC_ALL=C.UTF-8"), env...)
	term.cmd.Dir = t.TempDir()
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = tty, tty, tty
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = term.cmd.Wait()
		_ = term.screen.Close()
	})
	return term
}

// shows reads until the terminal has been sent a text, for at most a minute.
func (t *terminal) shows(want string) {
	t.Helper()
	if err := t.screen.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4096)
	for !strings.Contains(t.seen, want) && !strings.Contains(words(t.seen), want) {
		n, err := t.screen.Read(piece)
		if t.seen += string(piece[:n]); err != nil {
			t.Fatalf("%q is not shown: %v\n%q", want, err, t.seen[max(0, len(t.seen)-500):])
		}
	}
}

var (
	moves    = regexp.MustCompile("\x1b\\[[0-9;]*H")
	controls = regexp.MustCompile("\x1b(\\[[0-9;?<>]*[a-zA-Z]|\\(B|[=>])")
)

// words is what a terminal was sent, without where it is on the screen.
func words(sent string) string {
	return strings.Join(strings.Fields(controls.ReplaceAllString(moves.ReplaceAllString(sent, " "), "")), " ")
}

func (t *terminal) types(keys string) {
	t.Helper()
	t.seen = ""
	if _, err := t.screen.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end of the command, and returns its status.
func (t *terminal) ends() int {
	t.Helper()
	go func() {
		for piece := make([]byte, 4096); ; { // what is not read blocks the command
			if n, err := t.screen.Read(piece); n == 0 && err != nil {
				return
			}
		}
	}()
	err := t.cmd.Wait()
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return status.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return exitDone
}

// deadLetter sends a dead letter of a channel.
func deadLetter(t *testing.T, channel string) {
	t.Helper()
	provisioned(t, channel, &godwit.ConsumerOptions{})
	if _, errOut, status := call(t, "send", channel+"@dlq", "x"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
}

// On a terminal of 40 columns, top shows a channel with its dead letter, describes it, and sends it back after a
// question. The terminal is as before when it ends.
func TestTop(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	deadLetter(t, "orders")
	term := onTerminal(t, 40, nil, "top", "--every", "1s")
	term.shows("1 channel, 1 with problems")
	term.shows("orders")
	term.shows("\x1b[91m") // red
	term.types("\r")
	term.shows("esc back")
	term.types("\x1b")
	term.shows("enter describe")
	term.types("r")
	term.shows("Send them back?")
	term.types("y")
	term.shows("1 messages of orders@dlq were sent")
	term.types("q")
	if status := term.ends(); status != exitDone {
		t.Errorf("status %d", status)
	}
	if n := server.SQS().Queue("orders").Model().Stats().Visible; n != 1 {
		t.Errorf("%d messages wait in orders, want 1", n)
	}
}

// An interrupt ends top as well, and with NO_COLOR nothing is coloured.
func TestTopEnds(t *testing.T) {
	onServer(t)
	deadLetter(t, "orders")
	term := onTerminal(t, 100, []string{"NO_COLOR=1"}, "top")
	term.shows("1 channel, 1 with problems")
	term.shows("orders")
	if strings.Contains(term.seen, "\x1b[91m") || strings.Contains(term.seen, "\x1b[38;") {
		t.Errorf("it is coloured: %q", term.seen)
	}
	if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := term.ends(); status != exitDone {
		t.Errorf("status %d", status)
	}
}

// Without a terminal, top says what to use instead; wrong flags are told before anything is drawn.
func TestTopWithoutATerminal(t *testing.T) {
	onServer(t)
	for args, want := range map[string]string{
		"top": "use godwit ls --watch", "top --every 1ms": "--every is 1ms", "top --tolerance 0s": "--tolerance is 0s",
		"top a b": "one pattern at most",
	} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if status != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d: %s", args, status, errOut)
		}
	}
}

// On a terminal, more than a hundred messages are deleted or sent after a question, and what is lost in a protected
// context after its name. Any other answer changes nothing.
func TestQuestions(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	provisioned(t, "orders", nil)
	if _, errOut, status := call(t, "send", "orders", "x", "-n", "101"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	file := filepath.Join(t.TempDir(), "godwit.yaml")
	text := "contexts:\n  prod: {backend: aws, region: us-east-1, protected: true, endpoint: " +
		os.Getenv("AWS_ENDPOINT_URL") + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	waiting := func() int { return server.SQS().Queue("orders").Model().Stats().Total() }
	for _, c := range []struct {
		args, asks, answer string
		status             int
	}{
		{"purge orders --yes", "101 messages are in orders: type y to delete them: ", "n", exitFailed},
		{
			"rm orders --yes --messages --context prod", "prod is protected: type its name to rm there: ", "prd",
			exitFailed,
		},
		{"purge orders --yes --quiet", "type y to delete them: ", "y", exitDone},
		{"rm orders --yes --context prod", "type its name to rm there: ", "prod", exitDone},
	} {
		term := onTerminal(t, 80, []string{"GODWIT_CONFIG=" + file}, strings.Fields(c.args)...)
		term.shows(strings.TrimSpace(c.asks))
		term.types(c.answer + "\n")
		if status := term.ends(); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, term.seen)
		}
		if c.status != exitDone && waiting() != 101 {
			t.Errorf("%s: %d messages are left, want 101", c.args, waiting())
		}
	}
	if server.SQS().Queue("orders") != nil {
		t.Error("the queue is still there")
	}
}

// Work that takes long draws a bar on a terminal, with rate and time left, and tells a line a second elsewhere.
func TestLongWork(t *testing.T) {
	if apart(t) {
		return
	}
	onServer(t)
	provisioned(t, "orders", nil)
	provisioned(t, "copies", nil)
	if _, errOut, status := call(t, "send", "orders", "x", "-n", "40"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	file := filepath.Join(t.TempDir(), "orders.jsonl")
	term := onTerminal(t, 80, nil, "export", "orders", "--file", file)
	term.shows("40 messages of orders are in " + file)
	for _, args := range []string{
		"import copies --rate 30 --yes --file " + file, "requeue orders --to copies --rate 30 --max-deaths -1 --yes",
	} {
		term := onTerminal(t, 80, nil, strings.Fields(args)...)
		term.shows("[####")
		term.shows("\r\x1b[K")
		if status := term.ends(); status != exitDone {
			t.Errorf("%s: status %d", args, status)
		}
	}
	out, _, status := call(t, "import", "copies", "--file", file, "-o", "jsonl")
	if want := `{"channel":"copies","messages":40,"next_line":41,"done":false}` + "\n"; status != exitDone || out != want {
		t.Errorf("status %d: %s, want %s", status, out, want)
	}
	for args, told := range map[string]bool{
		"import copies --rate 30 --yes --file " + file: true, "import copies -q --rate 30 --yes --file " + file: false,
	} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if has := strings.Contains(errOut, " messages, line "); status != exitDone || has != told ||
			strings.Contains(errOut, "\r") {
			t.Errorf("%s: status %d, %q", args, status, errOut)
		}
	}
}

// On a terminal, a list has the color of each problem, also where there is no room for columns; NO_COLOR and pipes have
// none. What a channel's texts could do to the terminal is escaped in colored rows, too.
func TestLsInColor(t *testing.T) {
	if apart(t) {
		return
	}
	onServer(t)
	deadLetter(t, "orders")
	provisioned(t, "bills", nil)
	provisioned(t, "quiet", nil)
	if _, errOut, status := call(t, "send", "bills", "x"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	if _, errOut, status := call(t, "pause", "quiet", "--yes"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	const red, yellow, magenta = "\x1b[31m", "\x1b[33m", "\x1b[35m"
	for _, c := range []struct {
		columns uint16
		env     []string
		has     []string
		not     string
	}{
		{200, nil, []string{red + "orders@dlq ", yellow + "bills ", magenta + "quiet "}, red + "orders "},
		{40, nil, []string{red + "orders@dlq ", yellow + "bills ", magenta + "quiet "}, red + "orders "},
		{12, nil, []string{red + "channel: orders@dlq\x1b[0m", yellow + "oldest: "}, red + "channel: orders\x1b"},
		{200, []string{"NO_COLOR=1"}, []string{"orders@dlq"}, "\x1b["},
		{200, []string{"TERM=dumb"}, []string{"orders@dlq"}, "\x1b["},
	} {
		term := onTerminal(t, c.columns, c.env, "ls", "--tolerance", "1ns")
		term.shows("quiet@dlq")
		for _, want := range c.has {
			if !strings.Contains(term.seen, want) {
				t.Errorf("%d columns, %v: %q is missing in %q", c.columns, c.env, want, term.seen)
			}
		}
		if strings.Contains(term.seen, c.not) {
			t.Errorf("%d columns, %v: %q is in %q", c.columns, c.env, c.not, term.seen)
		}
	}
	if out, _, _ := call(t, "ls", "--tolerance", "1ns"); strings.Contains(out, "\x1b") {
		t.Errorf("a pipe gets colors: %q", out)
	}
}

// A list fits a terminal of 40 columns.
func TestLsOnANarrowTerminal(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	for columns, created := range map[uint16]bool{40: false, 200: true} {
		term := onTerminal(t, columns, nil, "ls", "--times")
		term.shows("orders@dlq")
		shown := strings.Contains(term.seen, "CREATED")
		if shown != created || !strings.Contains(term.seen, "WAITING") {
			t.Errorf("%d columns: %q", columns, term.seen)
		}
	}
}
