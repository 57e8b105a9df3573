package drivertest

// testCase shows one thing.
type testCase struct {
	name  string
	shows string
	needs func(h *Harness) string // why it cannot run; "": it can. nil: it always can
	run   func(k *kit)
}

// cases is the kit, in the order in which one would build a backend.
func cases() []testCase {
	var all []testCase
	for _, part := range [][]testCase{
		sendCases(), receiveCases(), settleCases(), leaseCases(), orderCases(),
		rejectCases(), repeatCases(), exchangeCases(), provisionCases(), closeCases(),
	} {
		all = append(all, part...)
	}
	return all
}

// need makes a condition of an ability.
func need(what string, has func(h *Harness) bool) func(h *Harness) string {
	return func(h *Harness) string {
		if has(h) {
			return ""
		}
		return "needs " + what
	}
}
