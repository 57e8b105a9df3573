// Package fullrun tells a test which of its two sizes to run. Each change runs the small size; the full run (`.ci/run
// --full`) runs the large one, which takes minutes.
package fullrun

import "os"

// On reports whether this is the full run: the environment variable GODWIT_FULL is 1.
func On() bool { return os.Getenv("GODWIT_FULL") == "1" }

// Pick returns small, or large in the full run. A test keeps what it shows at both sizes.
func Pick[T any](small, large T) T {
	if On() {
		return large
	}
	return small
}
