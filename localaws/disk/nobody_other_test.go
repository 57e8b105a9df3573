//go:build !linux

package disk

import "os"

// asNobody calls f as a user who may write no file of others, and reports whether it could.
func asNobody(f func()) bool {
	if os.Getuid() <= 0 {
		return false
	}
	f()
	return true
}
