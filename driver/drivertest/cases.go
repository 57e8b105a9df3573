package drivertest

import "slices"

// testCase checks one promise of package driver.
type testCase struct {
	name  string
	shows string
	needs func(h *Harness) string // why it cannot run; "": it can. nil: it can always run
	run   func(k *kit)
}

// cases returns the kit in the order in which an author would build a backend.
func cases() []testCase {
	return slices.Concat(
		sendCases(), receiveCases(), settleCases(), leaseCases(), orderCases(),
		rejectCases(), expiryCases(), repeatCases(), exchangeCases(), largeCases(), provisionCases(), operationsCases(),
		catalogCases(), rewindCases(),
		pauseCases(), purgeCases(), removeCases(), planCases(), snapshotCases(), activityCases(), forwardCases(),
		peekCases(), orphansCases(),
		closeCases(), transformCases(),
	)
}

// need returns a condition for an ability.
func need(what string, has func(h *Harness) bool) func(h *Harness) string {
	return func(h *Harness) string {
		if has(h) {
			return ""
		}
		return "needs " + what
	}
}
