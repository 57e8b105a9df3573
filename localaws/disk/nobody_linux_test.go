package disk

import (
	"os"
	"runtime"
	"syscall"
)

// asNobody calls f as a user who may write no file of others, also where tests run as root, and reports whether it
// could.
func asNobody(f func()) bool {
	if os.Getuid() > 0 {
		f()
		return true
	}
	const nobody = 65534
	runtime.LockOSThread() // the user is that of the thread; it ends with the goroutine if the user cannot be set back
	if syscall.Setfsuid(nobody) != nil {
		return false
	}
	f()
	if syscall.Setfsuid(0) == nil {
		runtime.UnlockOSThread()
	}
	return true
}
