package deathkind

import (
	"runtime/debug"
	"strings"
	"testing"
)

// fails panics two calls deep.
func fails(fail func()) (stack []byte) {
	defer func() {
		_ = recover()
		stack = debug.Stack()
	}()
	fail()
	return nil
}

// The frames of a panic begin where the code failed, also by the runtime; a stack without a panic has none.
func TestFrames(t *testing.T) {
	var none *struct{ a int }
	for name, fail := range map[string]func(){
		"panic": func() { panic("no") },
		"nil":   func() { none.a = 1 },
	} {
		got := Frames(fails(fail))
		all := strings.Split(got, ", ")
		if len(all) != 3 || !strings.HasPrefix(all[0], "deathkind.TestFrames.func") ||
			!strings.Contains(all[0], " stack_test.go:") ||
			!strings.HasPrefix(all[1], "deathkind.fails stack_test.go:") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, stack := range []string{"", "nonsense", string(debug.Stack())} {
		if got := Frames([]byte(stack)); got != "" {
			t.Errorf("%q has frames: %s", stack, got)
		}
	}
}
