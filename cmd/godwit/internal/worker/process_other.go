//go:build !unix

package worker

import (
	"os"
	"syscall"
)

// There are no process groups to signal here: only the process itself is ended, at once.
func ownGroup() *syscall.SysProcAttr { return nil }

func terminate(p *os.Process) { _ = p.Kill() }

func kill(p *os.Process) { _ = p.Kill() }
