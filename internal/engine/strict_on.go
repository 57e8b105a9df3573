//go:build godwitstrict

package engine

// verify compares the books with each other whenever the lock is released, in tests that are built so. In production a
// leak is logged at the end of a session.
func (l *ledger) verify() {
	if text := l.imbalance(); text != "" {
		panic("the engine's books do not balance: " + text)
	}
}
