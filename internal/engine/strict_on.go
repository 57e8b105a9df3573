//go:build godwitstrict

package engine

// verify compares the ledger's counts with its parts whenever the lock is released, with this build tag. Without it, a
// leak is logged at the end of a session.
func (l *ledger) verify() {
	if text := l.imbalance(); text != "" {
		panic("the counts of the engine's ledger differ from its parts: " + text)
	}
}

// shortInARow is 64 without this build tag: here, tests with few items have runs, too.
const shortInARow = 1
