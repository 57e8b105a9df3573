//go:build !race

package localaws_test

// raceEnabled says that the race detector slows the test down.
const raceEnabled = false
