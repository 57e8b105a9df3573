//go:build !unix

package worker

import (
	"errors"
	"os"
	"syscall"
)

// There are no process groups to signal here: only the process itself is ended, at once.
func ownGroup() *syscall.SysProcAttr { return nil }

func terminate(p *os.Process) { _ = p.Kill() }

func kill(p *os.Process) { _ = p.Kill() }

// canLookAhead says that readNow works. Without it a worker has one message at a time.
const canLookAhead = false

var errNothing = errors.New("nothing can be read now")

func readNow(*os.File, []byte) (int, error) { return 0, errNothing }
