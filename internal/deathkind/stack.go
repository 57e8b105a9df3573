package deathkind

import (
	"path"
	"strings"
)

// framesTold is how many frames of a panic its dead letter names.
const framesTold = 3

// Frames are the first frames of a handler that has panicked, from its stack as debug.Stack writes it: functions with
// file and line, without those of the runtime. "": there are none.
func Frames(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	var told []string
	panicked := false
	for i := 0; i+1 < len(lines) && len(told) < framesTold; i++ {
		where, isFrame := strings.CutPrefix(lines[i+1], "\t")
		if !isFrame {
			continue
		}
		function := lines[i]
		if j := strings.LastIndexByte(function, '('); j > 0 {
			function = function[:j]
		}
		switch {
		case function == "panic":
			panicked, told = true, nil // a panic while another one was handled comes first
		case panicked && !strings.HasPrefix(function, "runtime."):
			where, _, _ = strings.Cut(where, " +")
			told = append(told, path.Base(function)+" "+path.Base(where))
		}
		i++
	}
	return strings.Join(told, ", ")
}
