package worker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// termination is how long a process has between the request to end and its kill.
const termination = 5 * time.Second

// Command is what a process runs. A line without characters that mean something to a shell is split at its spaces;
// another one runs in sh.
type Command struct {
	args     []string
	patience time.Duration // between the request to end and the kill
}

// NewCommand checks that the program exists.
func NewCommand(line string) (Command, error) {
	args := strings.Fields(line)
	switch {
	case len(args) == 0:
		return Command{}, errors.New("the command is empty")
	case strings.ContainsAny(line, "|&;<>()$`\\\"'*?[]#~=%{}!\n"):
		args = []string{"sh", "-c", line}
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return Command{}, fmt.Errorf("the command %q cannot be run: %w (what only a shell knows needs sh -c '…')", line, err)
	}
	return Command{args, termination}, nil
}

// String is the command as it runs.
func (c Command) String() string { return strings.Join(c.args, " ") }

// process is a running command, in a process group of its own: a signal of the terminal does not reach it, and its end
// ends everything that it has started.
type process struct {
	cmd         *exec.Cmd
	patience    time.Duration
	errors      *tail
	out, errOut *line
}

// prepare describes a process whose output goes to shared lines.
func (c Command) prepare(shared *Lines) *process {
	p := &process{
		cmd: exec.Command(c.args[0], c.args[1:]...), patience: c.patience, out: &line{of: shared},
		errOut: &line{of: shared},
	}
	p.errors = &tail{to: p.errOut}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errors
	p.cmd.SysProcAttr = ownGroup()
	// A process that left the group may keep the output open.
	p.cmd.WaitDelay = termination
	return p
}

func (p *process) start() error {
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", strings.Join(p.cmd.Args, " "), err)
	}
	return nil
}

// endWith ends the process when the context ends: first by a request, then by force. The returned function waits for
// the process, and says how it ended.
func (p *process) endWith(ctx context.Context) (wait func() error) {
	over := make(chan struct{})
	ended := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(ended)
		p.end(over)
	})
	return func() error {
		err := p.cmd.Wait()
		close(over)
		p.out.flush()
		p.errOut.flush()
		if !release() {
			<-ended
		}
		return err
	}
}

// end asks the group to end, and kills it if it has not ended in time.
func (p *process) end(over <-chan struct{}) {
	terminate(p.cmd.Process)
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
	kill(p.cmd.Process) // what the process has left behind, too
}

// reason describes how a process ended, with the last that it wrote to its standard error.
func (p *process) reason(err error) error {
	how := "exit status 0"
	if err != nil {
		how = err.Error()
	}
	if text := p.errors.String(); text != "" {
		return fmt.Errorf("%s: %s", how, text)
	}
	return errors.New(how)
}
