//go:build !godwitstrict

package engine

// verify does nothing: see strict_on.go.
func (l *ledger) verify() {}

// shortInARow is how many handlers must have been short, one after another, before the next ones are expected to be.
const shortInARow = 64
