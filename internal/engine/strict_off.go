//go:build !godwitstrict

package engine

// verify does nothing: see strict_on.go.
func (l *ledger) verify() {}
