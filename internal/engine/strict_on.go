//go:build godwitstrict

package engine

// verify compares the books with each other whenever the lock is released, in tests that are built so. In production a leak is
// logged at the end of a session.
func (f *flow) verify() {
	if text := f.ledger.imbalance(); text != "" {
		panic("the engine's books do not balance: " + text)
	}
}
