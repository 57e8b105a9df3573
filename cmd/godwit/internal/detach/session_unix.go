//go:build unix

package detach

import "syscall"

// ownSession keeps a process from the signals of the terminal of its parent.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
