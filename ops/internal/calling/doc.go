// Package calling makes calls to a service that may fail for the moment: a batch call is repeated with the items that
// failed, and its [Outcome] says what came of each item. Many calls are made in parallel, within a bound, and a
// [Rate] spaces them.
package calling
