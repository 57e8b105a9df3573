//go:build !unix

package detach

import "syscall"

// ownSession keeps a process from the signals of the terminal of its parent where the system has sessions.
func ownSession() *syscall.SysProcAttr { return nil }
