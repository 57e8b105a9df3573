// Command differences holds a run of tests against a list of known differences.
//
// Nouns: a difference is a line of the list: the name of a test that fails, whose mistake that is, and why, with tabs
// between; results are what `go test -v` printed. A test that fails and is not listed, and one that is listed and does
// not fail, are both wrong: then it ends with status 1. Tests are meant that have no subtest of their own. Where chance
// decides, "at times" stands behind whose mistake it is, and passing is no complaint.
//
//	differences LIST OUTPUT-OF-GO-TEST-V
package main
