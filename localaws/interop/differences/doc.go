// Command differences compares a run of tests with a list of known differences.
//
// Its nouns: a difference is a line of the list: the name of a failing test, who has to fix it, and why, separated by
// tabs. The results are the output of `go test -v`. If a test fails and is not listed, or is listed and does not fail,
// the command ends with status 1. Only tests without subtests count. If a test's outcome is not deterministic, ", at
// times" follows the second field, and the test may also pass.
//
//	differences LIST OUTPUT-OF-GO-TEST-V
package main
