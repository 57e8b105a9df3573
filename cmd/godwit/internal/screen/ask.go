package screen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrRefused is the error of a question that was answered otherwise.
var ErrRefused = errors.New("nothing was changed: the answer was another one")

// Interactive reports whether somebody can answer a question: what the command reads is a terminal.
func Interactive(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Ask asks a question on standard error, also of a command that is quiet, and returns ErrRefused unless the answer is
// the wanted one. It ends with its context; a read of a terminal cannot be ended, and goes with the process.
func Ask(ctx context.Context, in io.Reader, question, want string) error {
	fmt.Fprint(&Writer{To: os.Stderr}, question)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is an answer as well
		answers <- strings.TrimSpace(line)
	}()
	select {
	case answer := <-answers:
		if answer != want {
			return ErrRefused
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
